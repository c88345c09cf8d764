// A narrow table and a map to the model's width: E(i) = A[i] P with A [V E], P [E D].
// Source: Lan et al., "ALBERT" (2020), section 3.1.
#pragma once

#include "embedding/embedding.hpp"

namespace lexikos::albert {

/// Deck table [embedding.albert].
template <class S>
EmbeddingFactory<S> read(const DeckTable& table);

}  // namespace lexikos::albert

// A narrow code of its own for each token, then an MLP: E(i) = W_2 gelu(W_1 norm(A[i])), A [V E].
// Source: the name and the matching are in Batley and Saha, arXiv 2601.22040; the structure is
// ours.
#pragma once

#include "embedding/embedding.hpp"

namespace lexikos::flat_mlp {

/// Deck table [embedding.flat_mlp].
template <class S>
EmbeddingFactory<S> read(const DeckTable& table);

}  // namespace lexikos::flat_mlp

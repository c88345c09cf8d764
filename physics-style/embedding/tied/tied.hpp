// Row i of the head's matrix: one table for input and output.
#pragma once

#include "embedding/embedding.hpp"

namespace lexikos::tied {

/// No deck table: there is nothing to choose.
template <class S>
EmbeddingFactory<S> read(const DeckTable&);

}  // namespace lexikos::tied

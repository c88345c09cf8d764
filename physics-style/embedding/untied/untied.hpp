// Row i of a table of its own: V x C trainable parameters beside the head's.
#pragma once

#include "embedding/embedding.hpp"

namespace lexikos::untied {

/// No deck table: there is nothing to choose.
template <class S>
EmbeddingFactory<S> read(const DeckTable&);

}  // namespace lexikos::untied

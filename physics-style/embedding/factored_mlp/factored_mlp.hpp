// LEV's base-b codebooks and seed, then an MLP in place of splines and product:
// E(i) = W_2 gelu(W_1 norm(sum_j C_j[i_j])).
// Source: the name and the matching are in Batley and Saha, arXiv 2601.22040; the structure is
// ours.
#pragma once

#include "embedding/embedding.hpp"

namespace lexikos::factored_mlp {

/// Deck table [embedding.factored_mlp].
template <class S>
EmbeddingFactory<S> read(const DeckTable& table);

}  // namespace lexikos::factored_mlp

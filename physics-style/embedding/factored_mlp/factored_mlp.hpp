// LEV's base-b codebooks and seed, then an MLP in place of splines and product:
// E(i) = W_2 gelu(W_1 norm(sum_j C_j[i_j])).
// Source: the name and the matching are in Batley and Saha, arXiv 2601.22040; the structure is
// ours.
#pragma once

#include "embedding/embedding.hpp"
#include "embedding/match.hpp"

namespace lexikos::factored_mlp {

/// What deck table [embedding.factored_mlp] says.
struct Settings {
  static constexpr const char* name = "factored_mlp";
  Index codebooks = 0;   // k
  Index seed_width = 0;  // d
  MatchedSize hidden;    // F

  static Settings read(const DeckTable& table);
  void match(const lev::Settings& lev) { hidden.lev = lev; }

  template <class S>
  std::unique_ptr<Embedding<S>> make(const ModelShape& shape) const;
};

}  // namespace lexikos::factored_mlp

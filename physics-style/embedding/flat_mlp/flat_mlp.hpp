// A narrow code of its own for each token, then an MLP: E(i) = W_2 gelu(W_1 norm(A[i])), A [V E].
// Source: the name and the matching are in Batley and Saha, arXiv 2601.22040; the structure is
// ours.
#pragma once

#include "embedding/embedding.hpp"
#include "embedding/match.hpp"

namespace lexikos::flat_mlp {

/// What deck table [embedding.flat_mlp] says.
struct Settings {
  static constexpr const char* name = "flat_mlp";
  Index code_width = 0;  // E
  MatchedSize hidden;    // F

  static Settings read(const DeckTable& table);
  void match(const lev::Settings& lev) { hidden.lev = lev; }

  template <class S>
  std::unique_ptr<Embedding<S>> make(const ModelShape& shape) const;
};

}  // namespace lexikos::flat_mlp

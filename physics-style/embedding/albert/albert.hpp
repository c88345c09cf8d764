// A narrow table and a map to the model's width: E(i) = A[i] P with A [V E], P [E D].
// Source: Lan et al., "ALBERT" (2020), section 3.1.
#pragma once

#include "embedding/embedding.hpp"
#include "embedding/match.hpp"

namespace lexikos::albert {

/// What deck table [embedding.albert] says.
struct Settings {
  static constexpr const char* name = "albert";
  MatchedSize rank;  // E

  static Settings read(const DeckTable& table);
  void match(const lev::Settings& lev) { rank.lev = lev; }

  template <class S>
  std::unique_ptr<Embedding<S>> make(const ModelShape& shape) const;
};

}  // namespace lexikos::albert

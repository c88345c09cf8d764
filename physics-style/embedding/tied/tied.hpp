// Row i of the head's matrix: one table for input and output.
#pragma once

#include "embedding/embedding.hpp"

namespace lexikos::tied {

/// Nothing to choose.
struct Settings {
  static constexpr const char* name = "tied";
  static constexpr const char* table = "head.weight";
  static Settings read(const DeckTable&) { return {}; }

  template <class S>
  std::unique_ptr<Embedding<S>> make(const ModelShape& shape) const;
};

}  // namespace lexikos::tied

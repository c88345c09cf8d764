// Row i of a table of its own: V x C trainable parameters beside the head's.
#pragma once

#include "embedding/embedding.hpp"

namespace lexikos::untied {

/// Nothing to choose.
struct Settings {
  static constexpr const char* name = "untied";
  static constexpr const char* table = "embedding.untied.table";
  static Settings read(const DeckTable&) { return {}; }

  template <class S>
  std::unique_ptr<Embedding<S>> make(const ModelShape& shape) const;
};

}  // namespace lexikos::untied

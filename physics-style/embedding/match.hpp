// Sizes that give an interface as many parameters as LEV has in the same deck.
#pragma once

#include <string>

#include "embedding/lev/lev.hpp"

namespace lexikos {

/// A size that the deck gives, or that follows from lev's settings in the same deck.
struct MatchedSize {
  Index given = 0;        // 0: as many parameters as lev has
  std::string statement;  // the deck's, for messages
  lev::Settings lev;

  static MatchedSize read(const DeckTable& table, const std::string& key, const std::string& doc);

  /// The parameters to match; 0 where the size is given.
  Index target(const ModelShape& shape) const;

  /// The size; where it is not given, the one whose parameter count fixed + size * per_unit is
  /// nearest to the target. Throws Error(deck) where not even one unit comes within half of it.
  Index size(const ModelShape& shape, Index fixed, Index per_unit) const;
};

}  // namespace lexikos

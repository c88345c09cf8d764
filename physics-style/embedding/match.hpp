// Sizes that give an interface as many parameters as LEV has in the same deck.
#pragma once

#include <string>

#include "deck/deck.hpp"
#include "kokkos_types.hpp"

namespace lexikos {

/// The size whose parameter count fixed + size * per_unit is nearest to `target`. Throws
/// Error(deck) where not even one unit comes within half of it; `key` is what the deck can set.
inline Index matched_size(const DeckTable& table, const std::string& key, Index target, Index fixed,
                          Index per_unit) {
  const Index size = (target - fixed + per_unit / 2) / per_unit;
  if (target <= fixed || size < 1) {
    table.reject(key, "cannot match lev's " + std::to_string(target) +
                          " parameters: one unit needs " + std::to_string(fixed + per_unit) +
                          "; set it");
  }
  return size;
}

}  // namespace lexikos

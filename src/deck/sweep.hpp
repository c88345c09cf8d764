// A sweep: one deck, many runs.
//
//   [sweep]
//   concurrent = 2                          # groups of MPI ranks that run members side by side
//   embedding.interface = ["tied", "lev"]   # every other key is the dotted name of a deck key
//   seed = [1, 2, 3]                        # with the values to run through
//
// gives tied-seed1, tied-seed2, tied-seed3, lev-seed1, lev-seed2, lev-seed3.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "deck/deck.hpp"

namespace lexikos {

/// One run of a sweep.
struct SweepMember {
  std::string name;  ///< fit for a folder; "" where there is no sweep
  Deck deck;         ///< without [sweep], with this member's values, unread
  /// Dotted key and value as TOML, a string without its quotes, in the order of the sweep.
  std::vector<std::pair<std::string, std::string>> settings;
};

struct SweepPlan {
  std::vector<SweepMember> members;  ///< at least one
  int concurrent = 1;  ///< groups of MPI ranks that run members side by side, at least 1
};

/// The cartesian product of the arrays in [sweep], in file order, the last key fastest; one member
/// with an empty name if there are none. A member is named by its values, joined by "-": strings
/// as they are, other values behind the last component of their key; characters outside
/// [A-Za-z0-9_.-] become "_".
/// Throws Error(deck) on an empty array, on what is no array, and where two members would have the
/// same name.
SweepPlan expand_sweep(const Deck& deck);

}  // namespace lexikos

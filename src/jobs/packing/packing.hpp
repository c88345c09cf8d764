// job = "packing": a grid of packing experiments, cell by cell, spread over the ranks.
#pragma once

#include <string>
#include <vector>

#include "deck/arguments.hpp"
#include "deck/deck.hpp"
#include "packing/packing.hpp"
#include "parallel/communicator.hpp"

namespace lexikos {

struct PackingSettings {
  std::string kind;                  // "optimised" or "random"
  std::vector<packing::Cell> cells;  // largest work first
  Index steps = 0, trials = 0;
  double learning_rate = 0;  // 0: the published one
  Index numerator = 0;       // q; 0: the published one
  Index power = 0;           // p; 0: from q
  Index tile = 0;            // vectors
  Index history_every = 0;   // steps
  bool gemm_rate = false;
  std::uint64_t seed = 0;
  std::string directory;
  std::string resolved_deck;

  /// Reads [packing]; a key that nobody read is an Error(deck). `directory` "" is the deck's.
  static PackingSettings read(const Deck& deck, const std::string& directory);
};

/// Cells of each rank: every cell goes, largest first, to the rank with the least work so far. The
/// same on every rank.
std::vector<std::vector<packing::Cell>> spread_cells(const std::vector<packing::Cell>& cells,
                                                     int ranks);

/// Runs the cells whose file is not in the folder yet; stops between cells at the wall limit or on
/// a signal. Cell by cell the result depends on the seed and the cell alone. Collective.
void run_packing(const PackingSettings& settings, const Arguments& arguments,
                 const Communicator& world);

}  // namespace lexikos

// What the driver itself reads from a deck: everything but the packages' and the optimizer's keys.
#pragma once

#include <string>
#include <vector>

#include "data/settings.hpp"
#include "deck/deck.hpp"
#include "kokkos_types.hpp"
#include "outputs/checkpoint.hpp"

namespace lexikos {

struct RunSettings {
  std::uint64_t seed = 0;  // of initial values and of the data order
  std::string directory;   // of the outputs

  Index steps = 0;
  Index log_every = 0;     // steps
  bool gemm_rate = false;  // measure it at start, to report each step's share

  DataSettings data;

  Index batch_tokens = 0;     // of a step, over all ranks
  Index batch_sequences = 0;  // the same in sequences
  Index micro_batch = 0;      // sequences; 0: a rank's whole share

  Index validation_every = 0;           // steps; 0: at the end only
  Index validation_tokens = 0;          // 0: all
  std::vector<double> frequency_edges;  // of the bins that the loss is stratified by

  Index geometry_every = 0;  // steps; 0: never

  Index checkpoint_every = 0;  // steps; 0: at the end only
  Retention retention;

  /// `context` is the transformer's T. Throws Error(deck).
  static RunSettings read(const Deck& deck, Index context);
};

/// What every job reads: the deck's seed and output.directory.
std::uint64_t read_seed(const Deck& deck);
std::string read_output_directory(const Deck& deck);

}  // namespace lexikos

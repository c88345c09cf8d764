// What the driver itself reads from a deck: everything but the packages' and the optimizer's keys.
#pragma once

#include <string>
#include <vector>

#include "deck/deck.hpp"
#include "driver/data_settings.hpp"
#include "kokkos_types.hpp"
#include "outputs/checkpoint.hpp"

namespace lexikos {

struct RunSettings {
  std::string job;         // "train", "evaluate", "bake" or "bench"
  std::uint64_t seed = 0;  // of initial values and of the data order
  std::string directory;   // of the outputs

  Index steps = 0;
  Index log_every = 0;      // steps
  bool gemm_rate = false;   // measure it at start, to report each step's share

  DataSettings data;

  Index batch_tokens = 0;      // of a step, over all ranks
  Index batch_sequences = 0;   // the same in sequences
  Index micro_batch = 0;       // sequences; 0: a rank's whole share

  Index validation_every = 0;   // steps; 0: at the end only
  Index validation_tokens = 0;  // 0: all
  std::vector<double> frequency_edges;  // of the bins that the loss is stratified by

  std::string requests_file;   // that the job evaluate scores; empty: the validation tokens
  bool share_contexts = true;  // of a question's choices

  Index geometry_every = 0;  // steps; 0: never

  Index checkpoint_every = 0;  // steps; 0: at the end only
  Retention retention;

  /// `context` is the transformer's T. Throws Error(deck).
  static RunSettings read(const Deck& deck, Index context);
};

/// What every kind of job reads: the deck's job, seed and output.directory.
std::string read_job(const Deck& deck);
std::uint64_t read_seed(const Deck& deck);
std::string read_output_directory(const Deck& deck);

}  // namespace lexikos

// What the driver itself reads from a deck: everything but the packages' and the optimizer's keys.
#pragma once

#include <string>

#include "deck/deck.hpp"
#include "kokkos_types.hpp"

namespace lexikos {

/// The deck's job, by its name; jobs that train nothing read only this and their own tables.
std::string read_job(const Deck& deck);
std::string read_output_directory(const Deck& deck);

struct RunSettings {
  std::string job;         // "train" or "bench"
  std::uint64_t seed = 0;  // of initial values and of the data order
  std::string directory;   // of the outputs

  Index steps = 0;
  Index log_every = 0;      // steps
  bool gemm_rate = false;   // measure it at start, to report each step's share

  std::string tokens_file;  // empty for synthetic tokens
  bool synthetic = false;
  Index vocabulary_size = 0;  // 0: the tokens file's

  Index batch_tokens = 0;      // of a step, over all ranks
  Index batch_sequences = 0;   // the same in sequences
  Index micro_batch = 0;       // sequences; 0: a rank's whole share

  Index validation_every = 0;   // steps; 0: at the end only
  Index validation_tokens = 0;  // 0: all

  Index checkpoint_every = 0;  // steps; 0: at the end only
  Index checkpoint_keep = 0;   // 0: all

  /// `context` is the transformer's T. Throws Error(deck).
  static RunSettings read(const Deck& deck, Index context);
};

}  // namespace lexikos

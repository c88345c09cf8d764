// What a training run reads from its deck: a struct a table, and each part gets its own only.
#pragma once

#include <string>
#include <vector>

#include "data/settings.hpp"
#include "deck/deck.hpp"
#include "model.hpp"
#include "optim/adamw.hpp"
#include "optim/schedule.hpp"
#include "outputs/checkpoint.hpp"
#include "parallel/gradient_reducer.hpp"
#include "train/spike_guard.hpp"

namespace lexikos {

/// [run]
struct RunSettings {
  Index steps = 0;
  Index log_every = 0;     // steps
  bool gemm_rate = false;  // measure it at start, to report each step's share
  static RunSettings read(const Deck& deck);
};

/// [validation]
struct ValidationSettings {
  Index every = 0;                      // steps; 0: at the end only
  Index tokens = 0;                     // targets of an evaluation; 0: all
  std::vector<double> frequency_edges;  // of the bins by which the loss is sorted
  static ValidationSettings read(const Deck& deck);
};

/// [geometry]
struct GeometrySettings {
  Index every = 0;  // steps; 0: never
  static GeometrySettings read(const Deck& deck);
};

/// [checkpoint]
struct CheckpointSettings {
  Index every = 0;  // steps; 0: at the end only
  Retention retention;
  static CheckpointSettings read(const Deck& deck);
};

/// [batch]
struct BatchSettings {
  Index tokens = 0;       // targets of a step over all ranks
  Index sequences = 0;    // these, in sequences of T
  Index micro_batch = 0;  // sequences in one pass; 0: a rank's whole share
  /// `context` is the transformer's T.
  static BatchSettings read(const Deck& deck, Index context);
};

/// Everything that the deck of one member of a sweep says.
struct MemberSettings {
  ModelSettings model;
  std::uint64_t seed = 0;  // of initial values and of the data order
  RunSettings run;
  ValidationSettings validation;
  GeometrySettings geometry;
  CheckpointSettings checkpoint;
  DataSettings data;
  BatchSettings batch;
  AdamWSettings adamw;
  Schedule schedule;
  ParallelSettings parallel;
  SpikeGuardSettings spike_guard;
  std::string resolved_deck;
  std::string member;     // "" where there is one model
  std::string directory;  // of this member's files

  /// Reads the tables that every job on a model has; the resolved deck holds them and what was
  /// read of `deck` before. `root` is the run's folder ("": the deck's output.directory). Throws
  /// Error(deck).
  static MemberSettings read(const Deck& deck, const std::string& member, const std::string& root);

  /// Sizes on one of `ranks` ranks.
  ModelSizes sizes(Index vocabulary, int ranks) const;
};

/// What every job reads: the deck's seed and output.directory.
std::uint64_t read_seed(const Deck& deck);
std::string read_output_directory(const Deck& deck);

}  // namespace lexikos

// Everything that one member of a sweep reads from its deck.
#pragma once

#include <string>

#include "model.hpp"
#include "optim/adamw.hpp"
#include "optim/schedule.hpp"
#include "parallel/gradient_reducer.hpp"
#include "train/run_settings.hpp"
#include "train/spike_guard.hpp"

namespace lexikos {

/// Everything one member's deck says.
struct MemberSettings {
  RunSettings run;
  ModelSettings model;
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

}  // namespace lexikos

// Leaves out the update of a step whose loss or gradient norm lies far above those of the steps
// before it: one bad batch must not undo a week. Off unless the deck says otherwise.
#pragma once

#include "deck/deck.hpp"
#include "kokkos_types.hpp"
#include "outputs/history.hpp"
#include "train/step_record.hpp"

namespace lexikos {

struct SpikeGuardSettings {
  double deviations = 0;  // z; 0: no guard
  Index stretch = 0;      // steps, spike_guard.window in the deck
  Index most_in_a_row = 0;
  static SpikeGuardSettings read(const Deck& deck);
};

/// A step is compared with the last rows of the history whose update was done, spike_guard.window
/// of them: its stretch. The history is in every checkpoint, so that a restart decides as the
/// straight run does.
class SpikeGuard {
 public:
  explicit SpikeGuard(const SpikeGuardSettings& settings) : settings_(settings) {}

  /// Counts anew, after the rows of `history` came from a checkpoint.
  void restart(const History& history);

  /// True where the step after those of `history` must do without its update: its loss or its
  /// gradient norm is more than z standard deviations above the mean of the stretch, which is full.
  /// Counts it. Throws Error(numerical) where too many steps in a row were left out already.
  bool skips(const History& history, double loss, double gradient_norm);

  /// Steps left out since the start of training.
  Index skipped() const { return skipped_; }

 private:
  bool is_spike(const History& history, double StepRecord::*column, double value) const;

  SpikeGuardSettings settings_;
  Index skipped_ = 0;
};

}  // namespace lexikos

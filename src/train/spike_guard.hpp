// Leaves out the update of a step whose loss or gradient norm lies far above those of the steps
// before it: one bad batch must not undo a week. Off unless the deck says otherwise.
#pragma once

#include "deck/deck.hpp"
#include "kokkos_types.hpp"
#include "outputs/history.hpp"

namespace lexikos {

struct SpikeGuardSettings {
  double deviations = 0;  // z; 0: no guard
  Index window = 0;       // steps
  Index most_in_a_row = 0;
  static SpikeGuardSettings read(const Deck& deck);
};

/// The window is the last rows of the history whose update was done. The history is in every
/// checkpoint, so that a restart decides as the straight run does.
class SpikeGuard {
 public:
  /// Adds the column "skipped" to `history`, which must outlive the guard.
  SpikeGuard(const SpikeGuardSettings& settings, History& history);

  /// Counts anew, after the rows of the history came from a checkpoint.
  void restart();

  /// True where the step after those of the history must do without its update: its loss or its
  /// gradient norm is more than z standard deviations above the mean of the window, which is full.
  /// Counts it. Throws Error(numerical) where too many steps in a row were left out already.
  bool skips(double loss, double gradient_norm);

  /// Steps left out since the start of training.
  Index skipped() const { return skipped_; }

 private:
  bool is_spike(const char* column, double value) const;

  SpikeGuardSettings settings_;
  const History& history_;
  Index skipped_ = 0;
};

}  // namespace lexikos

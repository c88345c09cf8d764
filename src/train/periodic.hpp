// What happens between the steps of a training run, every so often.
#pragma once

#include <functional>

#include "kokkos_types.hpp"

namespace lexikos {

struct Periodic {
  Index every = 0;                      // steps; 0: never between two steps
  std::function<void(Index step)> act;  // collective; `step`: how many are done
  bool before_first = false;            // also before the first step, where it is ever due
  bool after_last = false;              // also after the last step, where it is due then
  bool before_stop = false;             // whenever the run stops early
  double seconds = 0;                   // that it took last; an estimate until then
  Index last = -1;                      // step after which it was done last; -1: never yet

  bool due(Index step) const { return every > 0 && step % every == 0; }

  /// Acts, unless it has after this step. Returns whether it did.
  bool run(Index step) {
    if (last == step) return false;
    const Kokkos::Timer timer;
    act(step);
    seconds = timer.seconds();
    last = step;
    return true;
  }
};

}  // namespace lexikos

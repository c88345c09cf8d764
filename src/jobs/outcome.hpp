// How a member of a deck ended.
#pragma once

#include "kokkos_types.hpp"

namespace lexikos {

struct Outcome {
  bool finished = false;       // false: the wall limit or a signal came first
  double validation_loss = 0;  // nats per token, of the last evaluation
  Index validation_targets = 0;
  double tokens_per_second = 0;  // median over steps, the first left out
  Index parameters_trainable = 0;
};

}  // namespace lexikos

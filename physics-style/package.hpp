// The contract between the machine (src/) and the packages (here).
//
// A package is built from what it read of its own deck table and from the model's shape, and from
// nothing else. In order:
//   declare   reserves parameters (name, shape, initial values, decay rule) and device memory
//   forward   overwrites activations
//   backward  adds into parameter gradients, overwrites activations
//   costs     says what it costs
//   columns   numbers of its own that each step's row of history.h5 gets
#pragma once

#include "deck/deck.hpp"
#include "kokkos_types.hpp"
#include "state/memory.hpp"
#include "state/parameters.hpp"

namespace lexikos {

/// What every package may know of the model that it is part of.
struct ModelShape {
  Index vocabulary = 0;          // V
  Index width = 0;               // C, the papers' D
  Index context = 0;             // T
  Index micro_batch = 0;         // sequences in one forward and backward pass
  Index distinct_max = 0;        // U at most: distinct tokens of one step on one rank
  double init_deviation = 0.02;  // of the initial values of matrices
  Index positions() const { return micro_batch * context; }  // N
};

/// What the products of the transformer and the head multiply, and what the transformer's
/// activations are stored in. Parameters, gradients, the residual stream, norms, softmax and loss
/// stay in the model's own type. bf16 goes with fp32 models.
enum class Compute { own, bf16 };

/// What a package costs beside its trainable parameters, which the list of parameters counts.
struct Costs {
  Index fixed = 0;                // stored numbers that never change
  Index shared = 0;               // parameters that another package owns and counts
  Index matched_to = 0;           // parameters that the size was chosen to match; 0: none
  double flops_per_token = 0;     // forward and backward, each multiply-add as 2
  double flops_per_distinct = 0;  // the same for each distinct token of a step
};

}  // namespace lexikos

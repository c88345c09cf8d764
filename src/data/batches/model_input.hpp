// What one forward pass reads: whole sequences, whose positions point at distinct tokens.
#pragma once

#include <cstdint>

#include "kernels/spans.hpp"
#include "kokkos_types.hpp"

namespace lexikos {

/// Some sequences of T positions each, N positions together. The views are windows on a loader's
/// memory; the distinct tokens stand beside it, since passes of one step share them.
struct ModelInput {
  Index sequences = 0;
  View1<const std::int32_t> slot;  ///< [N] position -> row of the distinct tokens
  Spans spans;                     ///< which keys each position sees; plain: causal
};

}  // namespace lexikos

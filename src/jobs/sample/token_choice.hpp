// Which id follows: the likeliest, or one drawn from the probabilities.
#pragma once

#include <cstdint>

#include "kokkos_types.hpp"

namespace lexikos {

struct ChoiceSettings {
  double temperature =
      1.0;             // p ~ exp(logit / temperature); 0: the likeliest id, the first of equals
  double top_p = 1.0;  // only the likeliest ids whose probabilities reach this sum are drawn
};

/// The id at place u of the probabilities, 0 < u <= 1. Reads logits [V], in host memory.
/// Source of the cut: Holtzman et al., "The curious case of neural text degeneration" (2020),
/// eqs. 2 and 3; at least the likeliest id remains, and of equals the smaller ids come first.
template <class S>
TokenId choose(const S* logits, Index vocabulary, const ChoiceSettings& settings, double u);

/// The place that belongs to a sample (from 0) and to an id's place in the text: uniform in (0, 1],
/// a pure function of its arguments.
double draw(std::uint64_t seed, Index sample, Index place);

}  // namespace lexikos

// Sums of values by the bin of their token: the loss, stratified.
#pragma once

#include "kokkos_types.hpp"

namespace lexikos {

/// sums[b] += sum of values[n], and sums[bins + b] += the number of n, over the n < N with
/// bin_of[ids[n]] == b. Reads values [N], ids [N] (each below V), bin_of [V]; adds to sums [2
/// bins]; overwrites work [2 bins]. The same bits for the same number of threads: each bin is a
/// reduction of its own, since there are few of them.
inline void add_binned(const ExecSpace& space, View1<const double> values, View1<const TokenId> ids,
                       View1<const std::uint8_t> bin_of, View1<double> sums, View1<double> work) {
  const Index bins = sums.extent(0) / 2;
  for (Index b = 0; b < bins; ++b) {
    sum_into(
        "Lexikos::binned_sum::sum", space, values.extent(0),
        KOKKOS_LAMBDA(const Index n) {
          return bin_of.data()[ids.data()[n]] == b ? values.data()[n] : 0.0;
        },
        DeviceSum(work.data() + b));
    sum_into(
        "Lexikos::binned_sum::count", space, values.extent(0),
        KOKKOS_LAMBDA(const Index n) { return bin_of.data()[ids.data()[n]] == b ? 1.0 : 0.0; },
        DeviceSum(work.data() + bins + b));
  }
  for_each(
      "Lexikos::binned_sum::add", space, 2 * bins,
      KOKKOS_LAMBDA(const Index k) { sums.data()[k] += work.data()[k]; });
}

}  // namespace lexikos

// A row of a tile of cosines: its part of the loss sum |g|^p and of the maximum, and its
// derivatives.
#pragma once

#include <cmath>

#include "kokkos_types.hpp"

namespace lexikos::packing {

/// a^P by squaring, unrolled.
template <int P, class S>
KOKKOS_FORCEINLINE_FUNCTION S power(const S a) {
  if constexpr (P == 0) {
    return S(1);
  } else if constexpr (P == 1) {
    return a;
  } else if constexpr (P % 2 == 0) {
    const S half = power<P / 2>(a);
    return half * half;
  } else {
    return a * power<P - 1>(a);
  }
}

/// Cosines below this have |g|^(P-1) < 1e-30 and are taken as zero: next to the largest they count
/// for nothing, and without this the powers would be subnormal numbers, which are slow.
template <class S>
S smallest_cosine(int power) {
  return static_cast<S>(std::pow(1e-30, 1.0 / (power > 1 ? power - 1 : 1)));
}

/// With g = row[c], c < width: *loss += weight sum |g|^P and *largest = max(*largest, max |g|).
template <int P, class S>
KOKKOS_FORCEINLINE_FUNCTION void add_loss(const Lane& lane, const S* const row, const Index width,
                                          const S floor, const double weight, double* const loss,
                                          S* const largest) {
  const S most =
      lane.template max<S>(width, [=](const Index c) { return row[c] < 0 ? -row[c] : row[c]; });
  const S sum = lane.template sum<S>(width, [=](const Index c) {
    const S a = row[c] < 0 ? -row[c] : row[c];
    return power<P>(a < floor ? S(0) : a);
  });
  lane.once([=]() {
    *loss += weight * static_cast<double>(sum);
    *largest = most > *largest ? most : *largest;
  });
  lane.barrier();
}

/// row[c] = P |g|^(P-1) sign(g): the derivative of |g|^P.
template <int P, class S>
KOKKOS_FORCEINLINE_FUNCTION void differentiate(const Lane& lane, S* const row, const Index width,
                                               const S floor) {
  lane.for_each(width, [=](const Index c) {
    const S g = row[c], a = g < 0 ? -g : g;
    const S d = S(P) * power<P - 1>(a < floor ? S(0) : a);
    row[c] = g < 0 ? -d : d;
  });
}

}  // namespace lexikos::packing

// Quadratic B-spline weights on the uniform knots g_m = m / (kappa - 1), m = 0 .. kappa - 1.
// Source: Batley and Saha, arXiv 2601.22040; the normalisation by the sum as in methods that claim
// the paper's exact arithmetic.
#pragma once

#include <cmath>

#include "kokkos_types.hpp"

namespace lexikos::lev {

/// The knots with non-zero weight at one point: weight[i] belongs to knot index[i], and slope[i]
/// is its derivative by z. Knots beyond the ends have weight and slope 0 (index kept in range).
template <class S>
struct Knots {
  Index index[3];
  S weight[3];
  S slope[3];
};

/// B_m(z) = B(|z - g_m| (kappa - 1)) / sum, with B(t) = 3/4 - t^2 for t < 1/2, (3/2 - t)^2 / 2 for
/// t < 3/2, else 0. The sum is 1 except next to the two ends. z in [0, 1].
template <class S>
KOKKOS_INLINE_FUNCTION Knots<S> knots_at(S z, Index kappa) {
  const S scale = static_cast<S>(kappa - 1);
  const S p = z * scale;
  Index nearest = static_cast<Index>(p + S(0.5));
  nearest = nearest > kappa - 1 ? kappa - 1 : nearest;
  const S t = p - static_cast<S>(nearest);  // in [-1/2, 1/2]
  Knots<S> k;
  k.weight[0] = S(0.5) * (S(0.5) - t) * (S(0.5) - t);
  k.weight[1] = S(0.75) - t * t;
  k.weight[2] = S(0.5) * (S(0.5) + t) * (S(0.5) + t);
  k.slope[0] = t - S(0.5);
  k.slope[1] = S(-2) * t;
  k.slope[2] = t + S(0.5);
  for (int i = 0; i < 3; ++i) {
    k.index[i] = nearest - 1 + i;
    k.slope[i] *= scale;
  }
  if (nearest > 0 && nearest < kappa - 1) return k;  // the three weights sum to 1
  S sum = 0, sum_slope = 0;
  for (int i = 0; i < 3; ++i) {
    const bool inside = k.index[i] >= 0 && k.index[i] < kappa;
    k.index[i] = inside ? k.index[i] : nearest;
    k.weight[i] = inside ? k.weight[i] : S(0);
    k.slope[i] = inside ? k.slope[i] : S(0);
    sum += k.weight[i];
    sum_slope += k.slope[i];
  }
  for (int i = 0; i < 3; ++i) {
    k.weight[i] /= sum;
    k.slope[i] = (k.slope[i] - k.weight[i] * sum_slope) / sum;
  }
  return k;
}

}  // namespace lexikos::lev

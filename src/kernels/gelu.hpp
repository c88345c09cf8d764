// GELU in the tanh form of GPT-2: y = x / 2 (1 + tanh(s)) = x sigmoid(2 s) with
// s = sqrt(2 / pi) (x + 0.044715 x^3). Source: Hendrycks and Gimpel, "GELUs" (2016), section 2.
#pragma once

#include "kernels/elementary.hpp"
#include "kokkos_types.hpp"

namespace lexikos::gelu {

inline constexpr double twice_root_two_over_pi = 1.59576912160573071176;
inline constexpr double cubic = 0.044715;

/// Reads x [N F]; overwrites y [N F].
template <class S>
void forward(const ExecSpace& space, View2<const S> x, View2<S> y) {
  for_each(
      "Lexikos::gelu::forward", space, x.size(), KOKKOS_LAMBDA(const Index i) {
        const S v = x.data()[i];
        y.data()[i] = v * sigmoid(S(twice_root_two_over_pi) * (v + S(cubic) * v * v * v));
      });
}

/// Reads dy [N F]; reads x [N F] and overwrites it with its gradient.
template <class S>
void backward(const ExecSpace& space, View2<const S> dy, View2<S> x) {
  for_each(
      "Lexikos::gelu::backward", space, x.size(), KOKKOS_LAMBDA(const Index i) {
        const S v = x.data()[i];
        const S s = sigmoid(S(twice_root_two_over_pi) * (v + S(cubic) * v * v * v));
        const S slope = S(twice_root_two_over_pi) * (S(1) + S(3 * cubic) * v * v);
        x.data()[i] = dy.data()[i] * (s + v * s * (S(1) - s) * slope);
      });
}

}  // namespace lexikos::gelu

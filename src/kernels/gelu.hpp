// GELU in the tanh form of GPT-2: y = x / 2 (1 + tanh(s)) = x sigmoid(2 s) with
// s = sqrt(2 / pi) (x + 0.044715 x^3). Source: Hendrycks and Gimpel, "GELUs" (2016), section 2.
#pragma once

#include "kernels/elementary.hpp"
#include "kokkos_types.hpp"

namespace lexikos::gelu {

inline constexpr double twice_root_two_over_pi = 1.59576912160573071176;
inline constexpr double cubic = 0.044715;

/// Reads x [N F]; overwrites y [N F].
template <class A>
void forward(const ExecSpace& space, View2<const A> x, View2<A> y) {
  using W = Wide<A>;
  const Region region("Lexikos::gelu::forward", {.bytes = bytes_of(x, y)});
  for_each(
      "Lexikos::gelu::forward", space, x.size(), KOKKOS_LAMBDA(const Index i) {
        const W v = x.data()[i];
        y.data()[i] = A(v * sigmoid(W(twice_root_two_over_pi) * (v + W(cubic) * v * v * v)));
      });
}

/// Reads dy [N F]; reads x [N F] and overwrites it with its gradient.
template <class A>
void backward(const ExecSpace& space, View2<const A> dy, View2<A> x) {
  using W = Wide<A>;
  const Region region("Lexikos::gelu::backward", {.bytes = bytes_of(dy, x, x)});
  for_each(
      "Lexikos::gelu::backward", space, x.size(), KOKKOS_LAMBDA(const Index i) {
        const W v = x.data()[i];
        const W s = sigmoid(W(twice_root_two_over_pi) * (v + W(cubic) * v * v * v));
        const W slope = W(twice_root_two_over_pi) * (W(1) + W(3 * cubic) * v * v);
        x.data()[i] = A(W(dy.data()[i]) * (s + v * s * (W(1) - s) * slope));
      });
}

}  // namespace lexikos::gelu

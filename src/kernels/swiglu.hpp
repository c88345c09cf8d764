// SwiGLU: y = silu(g) * u with silu(g) = g / (1 + exp(-g)).
// Source: Shazeer, "GLU variants improve Transformer" (2020), eq. 6.
#pragma once

#include "kernels/elementary.hpp"
#include "kokkos_types.hpp"

namespace lexikos::swiglu {

/// Reads gu [N 2F] (each row: gate g [F], then u [F]); overwrites y [N F].
template <class A>
void forward(const ExecSpace& space, View2<const A> gu, View2<A> y) {
  using W = Wide<A>;
  const Region region("Lexikos::swiglu::forward", {.bytes = bytes_of(gu, y)});
  const Index f_count = y.extent(1);
  for_rows(
      "Lexikos::swiglu::forward", space, y.extent(0),
      KOKKOS_LAMBDA(const Lane& lane, const Index n) {
        const A* const g = gu.data() + n * 2 * f_count;
        const A* const u = g + f_count;
        A* const y_n = y.data() + n * f_count;
        lane.for_each(f_count, [=](const Index i) {
          const W gate = g[i], up = u[i];
          y_n[i] = A(gate * sigmoid(gate) * up);
        });
      });
}

/// Reads dy [N F]; reads gu [N 2F] and overwrites it with its gradient.
template <class A>
void backward(const ExecSpace& space, View2<const A> dy, View2<A> gu) {
  using W = Wide<A>;
  const Region region("Lexikos::swiglu::backward", {.bytes = bytes_of(dy, gu, gu)});
  const Index f_count = dy.extent(1);
  for_rows(
      "Lexikos::swiglu::backward", space, dy.extent(0),
      KOKKOS_LAMBDA(const Lane& lane, const Index n) {
        A* const g = gu.data() + n * 2 * f_count;
        A* const u = g + f_count;
        const A* const dy_n = dy.data() + n * f_count;
        lane.for_each(f_count, [=](const Index i) {
          const W gate = g[i], up = u[i], dy_i = dy_n[i];
          const W s = sigmoid(gate);
          g[i] = A(dy_i * up * s * (W(1) + gate * (W(1) - s)));
          u[i] = A(dy_i * gate * s);
        });
      });
}

}  // namespace lexikos::swiglu

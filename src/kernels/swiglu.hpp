// SwiGLU: y = silu(g) * u with silu(g) = g / (1 + exp(-g)).
// Source: Shazeer, "GLU variants improve Transformer" (2020), eq. 6.
#pragma once

#include "kernels/elementary.hpp"
#include "kokkos_types.hpp"

namespace lexikos::swiglu {

/// Reads gu [N 2F] (each row: gate g [F], then u [F]); overwrites y [N F].
template <class S>
void forward(const ExecSpace& space, View2<const S> gu, View2<S> y) {
  const Index f_count = y.extent(1);
  for_rows(
      "Lexikos::swiglu::forward", space, y.extent(0),
      KOKKOS_LAMBDA(const Lane& lane, const Index n) {
        const S* const g = gu.data() + n * 2 * f_count;
        const S* const u = g + f_count;
        S* const y_n = y.data() + n * f_count;
        lane.for_each(f_count, [=](const Index i) { y_n[i] = g[i] * sigmoid(g[i]) * u[i]; });
      });
}

/// Reads dy [N F]; reads gu [N 2F] and overwrites it with its gradient.
template <class S>
void backward(const ExecSpace& space, View2<const S> dy, View2<S> gu) {
  const Index f_count = dy.extent(1);
  for_rows(
      "Lexikos::swiglu::backward", space, dy.extent(0),
      KOKKOS_LAMBDA(const Lane& lane, const Index n) {
        S* const g = gu.data() + n * 2 * f_count;
        S* const u = g + f_count;
        const S* const dy_n = dy.data() + n * f_count;
        lane.for_each(f_count, [=](const Index i) {
          const S gate = g[i];
          const S s = sigmoid(gate);
          const S up = u[i];
          g[i] = dy_n[i] * up * s * (S(1) + gate * (S(1) - s));
          u[i] = dy_n[i] * gate * s;
        });
      });
}

}  // namespace lexikos::swiglu

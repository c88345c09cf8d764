// Root-mean-square normalisation: y = w * x / sqrt(mean_c x^2 + eps).
// Source: Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019), eq. 4.
#pragma once

#include <cmath>

#include "kokkos_types.hpp"

namespace lexikos::rmsnorm {

/// Rows that share one partial sum of the weight's gradient.
inline constexpr Index block_rows = 64;
inline Index partial_rows(Index rows) { return (rows + block_rows - 1) / block_rows; }

/// x_out = x + delta, y = norm(x_out): the residual sum and the norm in one pass.
/// Reads x [N C], delta [N C], w [C]; overwrites x_out [N C] (may be x), y [N C] (of a type A that
/// may be narrower), rstd [N].
template <class S, class A>
void forward_add(const ExecSpace& space, View2<const S> x, View2<const S> delta, View1<const S> w,
                 double eps, View2<S> x_out, View2<A> y, View1<S> rstd) {
  const Region region("Lexikos::rmsnorm::forward_add",
                      {.bytes = bytes_of(x, delta, w, x_out, y, rstd)});
  const Index c_count = x.extent(1);
  const S epsilon = static_cast<S>(eps);
  for_rows(
      "Lexikos::rmsnorm::forward_add", space, x.extent(0),
      KOKKOS_LAMBDA(const Lane& lane, const Index n) {
        const S* const x_n = x.data() + n * c_count;
        const S* const delta_n = delta.data() + n * c_count;
        const S* const weight = w.data();
        S* const sum_n = x_out.data() + n * c_count;
        A* const y_n = y.data() + n * c_count;
        const S squares = lane.template sum<S>(c_count, [=](const Index c) {
          const S value = x_n[c] + delta_n[c];
          sum_n[c] = value;
          return value * value;
        });
        const S r = S(1) / ::sqrt(squares / S(c_count) + epsilon);
        lane.for_each(c_count, [=](const Index c) { y_n[c] = A(sum_n[c] * r * weight[c]); });
        lane.once([=]() { rstd.data()[n] = r; });
      });
}

/// y = norm(x). Reads x [N C], w [C]; overwrites y [N C], rstd [N].
template <class S, class A>
void forward(const ExecSpace& space, View2<const S> x, View1<const S> w, double eps, View2<A> y,
             View1<S> rstd) {
  const Region region("Lexikos::rmsnorm::forward", {.bytes = bytes_of(x, w, y, rstd)});
  const Index c_count = x.extent(1);
  const S epsilon = static_cast<S>(eps);
  for_rows(
      "Lexikos::rmsnorm::forward", space, x.extent(0),
      KOKKOS_LAMBDA(const Lane& lane, const Index n) {
        const S* const x_n = x.data() + n * c_count;
        const S* const weight = w.data();
        A* const y_n = y.data() + n * c_count;
        const S squares =
            lane.template sum<S>(c_count, [=](const Index c) { return x_n[c] * x_n[c]; });
        const S r = S(1) / ::sqrt(squares / S(c_count) + epsilon);
        lane.for_each(c_count, [=](const Index c) { y_n[c] = A(x_n[c] * r * weight[c]); });
        lane.once([=]() { rstd.data()[n] = r; });
      });
}

/// Reads dy [N C], x [N C], w [C], rstd [N]; adds to dx [N C] and dw [C];
/// overwrites partial [partial_rows(N) C].
template <class S>
void backward(const ExecSpace& space, View2<const S> dy, View2<const S> x, View1<const S> w,
              View1<const S> rstd, View2<S> dx, View1<S> dw, View2<S> partial) {
  const Region region("Lexikos::rmsnorm::backward",
                      {.bytes = bytes_of(dy, x, w, rstd, dx, dx, dw, dw)});
  const Index rows = x.extent(0);
  const Index c_count = x.extent(1);
  const Index blocks = partial_rows(rows);
  for_rows(
      "Lexikos::rmsnorm::backward", space, blocks,
      KOKKOS_LAMBDA(const Lane& lane, const Index block) {
        const S* const weight = w.data();
        S* const sum = partial.data() + block * c_count;
        lane.for_each(c_count, [=](const Index c) { sum[c] = S(0); });
        const Index end = (block + 1) * block_rows < rows ? (block + 1) * block_rows : rows;
        for (Index n = block * block_rows; n < end; ++n) {
          const S* const x_n = x.data() + n * c_count;
          const S* const dy_n = dy.data() + n * c_count;
          S* const dx_n = dx.data() + n * c_count;
          const S r = rstd.data()[n];
          const S dot = lane.template sum<S>(
              c_count, [=](const Index c) { return dy_n[c] * weight[c] * x_n[c]; });
          const S along = dot * r * r * r / S(c_count);
          lane.for_each(c_count, [=](const Index c) {
            dx_n[c] += dy_n[c] * weight[c] * r - x_n[c] * along;
            sum[c] += dy_n[c] * x_n[c] * r;
          });
        }
      });
  Kokkos::parallel_for(
      "Lexikos::rmsnorm::weight_gradient", Kokkos::RangePolicy<ExecSpace>(space, 0, c_count),
      KOKKOS_LAMBDA(const Index c) {
        double total = 0.0;
        for (Index block = 0; block < blocks; ++block) total += partial(block, c);
        dw(c) += static_cast<S>(total);
      });
}

}  // namespace lexikos::rmsnorm

// Root-mean-square normalisation of each head of queries and keys, before they are turned
// (QK-norm): y = gain * x / sqrt(mean_e x^2 + eps), one gain for all query heads and one for all
// key heads. Source: Henry et al., "Query-Key Normalization for Transformers" (2020), section 3,
// with the norm of rmsnorm.hpp and a gain each, as in "Qwen3 Technical Report" (2025), section 2.
#pragma once

#include <cmath>

#include "kernels/rmsnorm.hpp"
#include "kokkos_types.hpp"

namespace lexikos::head_norm {

/// Reads the gains of queries and keys [E]. In each row of qkv [N, (H + 2 G) E] overwrites the
/// heads of queries (H) and of keys (G) with their norms, and leaves those of values; overwrites
/// raw [N, (H + G) E] with what was there, and rstd [N, H + G].
template <class A>
void forward(const ExecSpace& space, double eps, Index heads, View1<const Wide<A>> query_gain,
             View1<const Wide<A>> key_gain, View2<A> qkv, View2<A> raw, View2<Wide<A>> rstd) {
  using W = Wide<A>;
  const Region region("Lexikos::head_norm::forward", {.bytes = bytes_of(raw, raw, raw, rstd)});
  const Index width = query_gain.extent(0), columns = qkv.extent(1), normed = rstd.extent(1);
  const W epsilon = static_cast<W>(eps);
  for_rows(
      "Lexikos::head_norm::forward", space, qkv.extent(0) * normed,
      KOKKOS_LAMBDA(const Lane& lane, const Index i) {
        const Index n = i / normed, h = i % normed;
        const W* const gain = h < heads ? query_gain.data() : key_gain.data();
        A* const x = qkv.data() + n * columns + h * width;
        A* const kept = raw.data() + i * width;
        const W squares = lane.template sum<W>(width, [=](const Index e) {
          kept[e] = x[e];
          return W(x[e]) * W(x[e]);
        });
        const W r = W(1) / ::sqrt(squares / W(width) + epsilon);
        lane.for_each(width, [=](const Index e) { x[e] = A(W(x[e]) * r * gain[e]); });
        lane.once([=]() { rstd.data()[i] = r; });
      });
}

/// Rows of partial sums that backward needs.
inline Index partial_rows(Index rows) { return rmsnorm::partial_rows(rows); }

/// Reads raw and rstd as forward left them and the gains; in each row of dqkv overwrites the
/// gradient of the norms of queries and keys with that of the heads before. Adds to the gains'
/// gradients [E]; overwrites partial [partial_rows(N), 2 E].
template <class A>
void backward(const ExecSpace& space, Index heads, View2<const A> raw, View2<const Wide<A>> rstd,
              View1<const Wide<A>> query_gain, View1<const Wide<A>> key_gain, View2<A> dqkv,
              View1<Wide<A>> dquery_gain, View1<Wide<A>> dkey_gain, View2<Wide<A>> partial) {
  using W = Wide<A>;
  const Region region("Lexikos::head_norm::backward", {.bytes = bytes_of(raw, raw, raw, rstd)});
  const Index width = query_gain.extent(0), columns = dqkv.extent(1), normed = rstd.extent(1);
  const Index rows = dqkv.extent(0), blocks = partial_rows(rows);
  for_rows(
      "Lexikos::head_norm::backward", space, blocks,
      KOKKOS_LAMBDA(const Lane& lane, const Index block) {
        W* const sums = partial.data() + block * 2 * width;
        lane.for_each(2 * width, [=](const Index e) { sums[e] = W(0); });
        const Index end = (block + 1) * rmsnorm::block_rows;
        const Index last = (end < rows ? end : rows) * normed;
        for (Index i = block * rmsnorm::block_rows * normed; i < last; ++i) {
          const Index n = i / normed, h = i % normed;
          const bool query = h < heads;
          const W* const gain = query ? query_gain.data() : key_gain.data();
          W* const sum = query ? sums : sums + width;
          const A* const x = raw.data() + i * width;
          A* const d = dqkv.data() + n * columns + h * width;
          const W r = rstd.data()[i];
          const W dot = lane.template sum<W>(
              width, [=](const Index e) { return W(d[e]) * gain[e] * W(x[e]); });
          const W along = dot * r * r * r / W(width);
          lane.for_each(width, [=](const Index e) {
            const W dy = d[e];
            sum[e] += dy * W(x[e]) * r;
            d[e] = A(dy * gain[e] * r - W(x[e]) * along);
          });
          lane.barrier();
        }
      });
  for_each(
      "Lexikos::head_norm::gain_gradient", space, 2 * width, KOKKOS_LAMBDA(const Index e) {
        double sum = 0;
        for (Index block = 0; block < blocks; ++block) {
          sum += static_cast<double>(partial.data()[block * 2 * width + e]);
        }
        (e < width ? dquery_gain.data()[e] : dkey_gain.data()[e - width]) += static_cast<W>(sum);
      });
}

}  // namespace lexikos::head_norm

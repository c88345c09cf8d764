// Rotary position embedding on queries and keys, with the change of layout that attention wants.
// Source: Su et al., "RoFormer" (2021), eq. 34, in the half-split pairing of Llama checkpoints:
// element i < E/2 is paired with i + E/2 and turned by t * base^(-2 i / E).
#pragma once

#include <cmath>

#include "kernels/spans.hpp"
#include "kokkos_types.hpp"

namespace lexikos::rope {

/// Overwrites cosine and sine [T E/2].
template <class S>
void fill_tables(const ExecSpace& space, double base, View2<S> cosine, View2<S> sine) {
  const Index half = cosine.extent(1);
  for_each(
      "Lexikos::rope::fill_tables", space, cosine.extent(0) * half,
      KOKKOS_LAMBDA(const Index i) {
        const double t = static_cast<double>(i / half);
        const double turn = t * ::pow(base, -static_cast<double>(i % half) / half);
        cosine.data()[i] = static_cast<S>(::cos(turn));
        sine.data()[i] = static_cast<S>(::sin(turn));
      });
}

/// Heads that keys and values have of their own, from the columns of qkv.
inline Index kv_heads_of(Index columns, Index heads, Index width) {
  return (columns / width - heads) / 2;
}

/// Turns one query and one key [E] by the angles whose cosines and sines are c, s [E/2]: overwrites
/// to_q and to_k.
template <class S>
KOKKOS_FORCEINLINE_FUNCTION void turn(const Lane& lane, Index half, const S* c, const S* s,
                                      const S* from_q, const S* from_k, S* to_q, S* to_k) {
  lane.for_each(half, [=](const Index i) {
    to_q[i] = from_q[i] * c[i] - from_q[i + half] * s[i];
    to_q[i + half] = from_q[i + half] * c[i] + from_q[i] * s[i];
    to_k[i] = from_k[i] * c[i] - from_k[i + half] * s[i];
    to_k[i + half] = from_k[i + half] * c[i] + from_k[i] * s[i];
  });
}

/// Reads qkv [N, C + 2 G E] (each row: q [H E], k [G E], v [G E]) and the positions of spans;
/// overwrites q, k (turned) and v, each [B H T E]. G divides H: key and value head g is that of the
/// query heads g H / G, ..., (g + 1) H / G - 1, and is written for each of them.
template <class S>
void forward(const ExecSpace& space, const Spans& spans, View2<const S> qkv,
             View2<const S> cosine, View2<const S> sine, Index heads, View4<S> q, View4<S> k,
             View4<S> v) {
  const std::int32_t* const positions = spans.position.data();  // null: the place is the position
  const Index t_count = q.extent(2);
  const Index width = q.extent(3);
  const Index half = width / 2;
  const Index columns = qkv.extent(1);
  const Index kv_heads = kv_heads_of(columns, heads, width);
  const Index group = heads / kv_heads;
  for_rows(
      "Lexikos::rope::forward", space, qkv.extent(0) * heads,
      KOKKOS_LAMBDA(const Lane& lane, const Index row) {
        const Index h = row % heads;
        const Index n = row / heads;
        const Index t = n % t_count;
        const Index to = (((n / t_count) * heads + h) * t_count + t) * width;
        const Index position = positions == nullptr ? t : positions[n];
        const S* const c = cosine.data() + position * half;
        const S* const s = sine.data() + position * half;
        const S* const from_q = qkv.data() + n * columns + h * width;
        const S* const from_k = qkv.data() + n * columns + (heads + h / group) * width;
        const S* const from_v = from_k + kv_heads * width;
        S* const to_q = q.data() + to;
        S* const to_k = k.data() + to;
        S* const to_v = v.data() + to;
        turn(lane, half, c, s, from_q, from_k, to_q, to_k);
        lane.for_each(width, [=](const Index i) { to_v[i] = from_v[i]; });
      });
}

/// The transpose of forward: the gradients of a group's heads are summed into their one key and
/// value head. Reads dq, dk, dv [B H T E]; overwrites dqkv [N, C + 2 G E].
template <class S>
void backward(const ExecSpace& space, const Spans& spans, View4<const S> dq, View4<const S> dk,
              View4<const S> dv, View2<const S> cosine, View2<const S> sine, Index heads,
              View2<S> dqkv) {
  const std::int32_t* const positions = spans.position.data();
  const Index t_count = dq.extent(2);
  const Index width = dq.extent(3);
  const Index half = width / 2;
  const Index columns = dqkv.extent(1);
  const Index kv_heads = kv_heads_of(columns, heads, width);
  const Index group = heads / kv_heads;
  for_rows(
      "Lexikos::rope::backward", space, dqkv.extent(0) * kv_heads,
      KOKKOS_LAMBDA(const Lane& lane, const Index row) {
        const Index g = row % kv_heads;
        const Index n = row / kv_heads;
        const Index t = n % t_count;
        const Index position = positions == nullptr ? t : positions[n];
        const S* const c = cosine.data() + position * half;
        const S* const s = sine.data() + position * half;
        S* const to_k = dqkv.data() + n * columns + (heads + g) * width;
        S* const to_v = to_k + kv_heads * width;
        for (Index member = 0; member < group; ++member) {
          const bool first = member == 0;
          const Index h = g * group + member;
          const Index from = (((n / t_count) * heads + h) * t_count + t) * width;
          S* const to_q = dqkv.data() + n * columns + h * width;
          const S* const from_q = dq.data() + from;
          const S* const from_k = dk.data() + from;
          const S* const from_v = dv.data() + from;
          lane.for_each(half, [=](const Index i) {
            to_q[i] = from_q[i] * c[i] + from_q[i + half] * s[i];
            to_q[i + half] = from_q[i + half] * c[i] - from_q[i] * s[i];
            const S low = from_k[i] * c[i] + from_k[i + half] * s[i];
            const S high = from_k[i + half] * c[i] - from_k[i] * s[i];
            to_k[i] = first ? low : to_k[i] + low;
            to_k[i + half] = first ? high : to_k[i + half] + high;
          });
          lane.for_each(width,
                        [=](const Index i) { to_v[i] = first ? from_v[i] : to_v[i] + from_v[i]; });
        }
      });
}

}  // namespace lexikos::rope

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
      "Lexikos::rope::fill_tables", space, cosine.extent(0) * half, KOKKOS_LAMBDA(const Index i) {
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
template <class A>
KOKKOS_FORCEINLINE_FUNCTION void turn(const Lane& lane, Index half, const Wide<A>* c,
                                      const Wide<A>* s, const A* from_q, const A* from_k, A* to_q,
                                      A* to_k) {
  using W = Wide<A>;
  lane.for_each(half, [=](const Index i) {
    const W q_low = from_q[i], q_high = from_q[i + half];
    const W k_low = from_k[i], k_high = from_k[i + half];
    to_q[i] = A(q_low * c[i] - q_high * s[i]);
    to_q[i + half] = A(q_high * c[i] + q_low * s[i]);
    to_k[i] = A(k_low * c[i] - k_high * s[i]);
    to_k[i + half] = A(k_high * c[i] + k_low * s[i]);
  });
}

/// Reads qkv [N, C + 2 G E] (each row: q [H E], k [G E], v [G E]) and the positions of spans;
/// overwrites q, k (turned) and v, each [B H T E]. G divides H: key and value head g is that of the
/// query heads g H / G, ..., (g + 1) H / G - 1, and is written for each of them.
template <class A>
void forward(const ExecSpace& space, const Spans& spans, View2<const A> qkv,
             View2<const Wide<A>> cosine, View2<const Wide<A>> sine, Index heads, View4<A> q,
             View4<A> k, View4<A> v) {
  const Region region("Lexikos::rope::forward", {.bytes = bytes_of(qkv, q, k, v)});
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
        const Wide<A>* const c = cosine.data() + position * half;
        const Wide<A>* const s = sine.data() + position * half;
        const A* const from_q = qkv.data() + n * columns + h * width;
        const A* const from_k = qkv.data() + n * columns + (heads + h / group) * width;
        const A* const from_v = from_k + kv_heads * width;
        A* const to_q = q.data() + to;
        A* const to_k = k.data() + to;
        A* const to_v = v.data() + to;
        turn(lane, half, c, s, from_q, from_k, to_q, to_k);
        lane.for_each(width, [=](const Index i) { to_v[i] = from_v[i]; });
      });
}

/// The transpose of forward: the gradients of a group's heads are summed into their one key and
/// value head. Reads dq, dk, dv [B H T E]; overwrites dqkv [N, C + 2 G E].
template <class A>
void backward(const ExecSpace& space, const Spans& spans, View4<const Wide<A>> dq,
              View4<const Wide<A>> dk, View4<const Wide<A>> dv, View2<const Wide<A>> cosine,
              View2<const Wide<A>> sine, Index heads, View2<A> dqkv) {
  using W = Wide<A>;
  const Region region("Lexikos::rope::backward", {.bytes = bytes_of(dq, dk, dv, dqkv)});
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
        const Wide<A>* const c = cosine.data() + position * half;
        const Wide<A>* const s = sine.data() + position * half;
        A* const to_k = dqkv.data() + n * columns + (heads + g) * width;
        A* const to_v = to_k + kv_heads * width;
        // The heads of a group lie one after the other in dq, dk and dv.
        const Index first = (((n / t_count) * heads + g * group) * t_count + t) * width;
        const Index next = t_count * width;
        for (Index member = 0; member < group; ++member) {
          A* const to_q = dqkv.data() + n * columns + (g * group + member) * width;
          const W* const from_q = dq.data() + first + member * next;
          lane.for_each(half, [=](const Index i) {
            to_q[i] = A(from_q[i] * c[i] + from_q[i + half] * s[i]);
            to_q[i + half] = A(from_q[i + half] * c[i] - from_q[i] * s[i]);
          });
        }
        const W* const from_k = dk.data() + first;
        const W* const from_v = dv.data() + first;
        // A group of one is a loop by itself, because an inner loop keeps it from being vectorised.
        if (group == 1) {
          lane.for_each(half, [=](const Index i) {
            to_k[i] = A(from_k[i] * c[i] + from_k[i + half] * s[i]);
            to_k[i + half] = A(from_k[i + half] * c[i] - from_k[i] * s[i]);
            to_v[i] = A(from_v[i]);
            to_v[i + half] = A(from_v[i + half]);
          });
          return;
        }
        lane.for_each(half, [=](const Index i) {
          W k_low = 0, k_high = 0, v_low = 0, v_high = 0;
          for (Index member = 0; member < group; ++member) {
            const Index at = member * next + i;
            k_low += from_k[at];
            k_high += from_k[at + half];
            v_low += from_v[at];
            v_high += from_v[at + half];
          }
          to_k[i] = A(k_low * c[i] + k_high * s[i]);
          to_k[i + half] = A(k_high * c[i] - k_low * s[i]);
          to_v[i] = A(v_low);
          to_v[i + half] = A(v_high);
        });
      });
}

}  // namespace lexikos::rope

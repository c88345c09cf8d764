// Attention of one new position of each sequence on the keys and values that are kept from the
// positions before: o = softmax(q k^T / sqrt(E)) v over the places 0 ... t, or the last of them.
// Source: Pope et al., "Efficiently scaling Transformer inference" (2022), section 2: the
// key-value cache.
#pragma once

#include <cmath>

#include "kernels/elementary.hpp"
#include "kernels/rope.hpp"
#include "kokkos_types.hpp"

namespace lexikos::decode_attention {

/// Reads qkv [B, C + 2 G E] of place t (columns as in rope::forward) and the rotary tables;
/// overwrites q [B H E] (turned) and place t of the cache k (turned), v, each [B H T E].
template <class A>
void append(const ExecSpace& space, View2<const A> qkv, View2<const Wide<A>> cosine,
            View2<const Wide<A>> sine, Index t, View3<A> q, View4<A> k, View4<A> v) {
  const Index heads = k.extent(1), t_count = k.extent(2), width = k.extent(3);
  const Index half = width / 2;
  const Index columns = qkv.extent(1);
  const Index kv_heads = rope::kv_heads_of(columns, heads, width);
  const Index group = heads / kv_heads;
  for_rows(
      "Lexikos::decode_attention::append", space, qkv.extent(0) * heads,
      KOKKOS_LAMBDA(const Lane& lane, const Index row) {
        const Index h = row % heads;
        const Index b = row / heads;
        const Index to = (row * t_count + t) * width;
        const Wide<A>* const c = cosine.data() + t * half;
        const Wide<A>* const s = sine.data() + t * half;
        const A* const from_q = qkv.data() + b * columns + h * width;
        const A* const from_k = qkv.data() + b * columns + (heads + h / group) * width;
        const A* const from_v = from_k + kv_heads * width;
        A* const to_q = q.data() + row * width;
        A* const to_k = k.data() + to;
        A* const to_v = v.data() + to;
        rope::turn(lane, half, c, s, from_q, from_k, to_q, to_k);
        lane.for_each(width, [=](const Index i) { to_v[i] = from_v[i]; });
      });
}

/// Reads q [B H E] and places 0 ... t of k, v [B H T E], of which only the last `window` count
/// where it is not 0; overwrites o [B C] (heads side by side) and weights [B H T] (work space).
template <class A>
void forward(const ExecSpace& space, View3<const A> q, View4<const A> k, View4<const A> v, Index t,
             Index window, View3<Wide<A>> weights, View2<A> o) {
  const Index t_count = k.extent(2), width = k.extent(3);
  const Index keys = window > 0 && window <= t ? window : t + 1;
  const Index first = t + 1 - keys;
  using W = Wide<A>;
  const W scale = static_cast<W>(1.0 / ::sqrt(static_cast<double>(width)));
  for_rows(
      "Lexikos::decode_attention::forward", space, q.extent(0) * q.extent(1),
      KOKKOS_LAMBDA(const Lane& lane, const Index row) {
        const A* const query = q.data() + row * width;
        const A* const key = k.data() + (row * t_count + first) * width;
        const A* const value = v.data() + (row * t_count + first) * width;
        W* const weight = weights.data() + row * t_count;
        A* const out = o.data() + row * width;
        lane.for_each(keys, [=](const Index j) {
          W dot = 0;
          for (Index e = 0; e < width; ++e) dot += W(query[e]) * W(key[j * width + e]);
          weight[j] = scale * dot;
        });
        lane.barrier();
        const W largest = lane.template max<W>(keys, [=](const Index j) { return weight[j]; });
        const W total = lane.template sum<W>(keys, [=](const Index j) {
          const W e = fast_exp(weight[j] - largest);
          weight[j] = e;
          return e;
        });
        lane.barrier();
        const W inverse = W(1) / total;
        lane.for_each(width, [=](const Index e) {
          W sum = 0;
          for (Index j = 0; j < keys; ++j) sum += weight[j] * W(value[j * width + e]);
          out[e] = A(sum * inverse);
        });
      });
}

}  // namespace lexikos::decode_attention

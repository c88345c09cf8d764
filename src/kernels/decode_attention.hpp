// Attention of one new position of each sequence on the keys and values that are kept from the
// positions before: o = softmax(q k^T / sqrt(E)) v over the places 0 ... t.
// Source: Pope et al., "Efficiently scaling Transformer inference" (2022), section 2: the
// key-value cache.
#pragma once

#include <cmath>

#include "kernels/elementary.hpp"
#include "kernels/rope.hpp"
#include "kokkos_types.hpp"

namespace lexikos::decode_attention {

/// Reads qkv [B, C + 2 G E] of place t (columns as in rope::forward) and the rotary tables; overwrites
/// q [B H E] (turned) and place t of the cache k (turned), v, each [B H T E].
template <class S>
void append(const ExecSpace& space, View2<const S> qkv, View2<const S> cosine,
            View2<const S> sine, Index t, View3<S> q, View4<S> k, View4<S> v) {
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
        const S* const c = cosine.data() + t * half;
        const S* const s = sine.data() + t * half;
        const S* const from_q = qkv.data() + b * columns + h * width;
        const S* const from_k = qkv.data() + b * columns + (heads + h / group) * width;
        const S* const from_v = from_k + kv_heads * width;
        S* const to_q = q.data() + row * width;
        S* const to_k = k.data() + to;
        S* const to_v = v.data() + to;
        rope::turn(lane, half, c, s, from_q, from_k, to_q, to_k);
        lane.for_each(width, [=](const Index i) { to_v[i] = from_v[i]; });
      });
}

/// Reads q [B H E] and places 0 ... t of k, v [B H T E]; overwrites o [B C] (heads side by side) and
/// weights [B H T] (work space).
template <class S>
void forward(const ExecSpace& space, View3<const S> q, View4<const S> k, View4<const S> v, Index t,
             View3<S> weights, View2<S> o) {
  const Index t_count = k.extent(2), width = k.extent(3);
  const Index keys = t + 1;
  const S scale = static_cast<S>(1.0 / ::sqrt(static_cast<double>(width)));
  for_rows(
      "Lexikos::decode_attention::forward", space, q.extent(0) * q.extent(1),
      KOKKOS_LAMBDA(const Lane& lane, const Index row) {
        const S* const query = q.data() + row * width;
        const S* const key = k.data() + row * t_count * width;
        const S* const value = v.data() + row * t_count * width;
        S* const weight = weights.data() + row * t_count;
        S* const out = o.data() + row * width;
        lane.for_each(keys, [=](const Index j) {
          S dot = 0;
          for (Index e = 0; e < width; ++e) dot += query[e] * key[j * width + e];
          weight[j] = scale * dot;
        });
        lane.barrier();
        const S largest = lane.template max<S>(keys, [=](const Index j) { return weight[j]; });
        const S total = lane.template sum<S>(keys, [=](const Index j) {
          const S e = fast_exp(weight[j] - largest);
          weight[j] = e;
          return e;
        });
        lane.barrier();
        const S inverse = S(1) / total;
        lane.for_each(width, [=](const Index e) {
          S sum = 0;
          for (Index j = 0; j < keys; ++j) sum += weight[j] * value[j * width + e];
          out[e] = sum * inverse;
        });
      });
}

}  // namespace lexikos::decode_attention

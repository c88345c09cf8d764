// Causal multi-head attention, tiled: o = softmax(scale q k^T + causal mask) v, head by head.
// The softmax is online: key tile after key tile, with a running largest logit and a running sum,
// so no T x T buffer exists. Backward recomputes the tiles from the stored log-sum-exp.
// Source: Dao, "FlashAttention-2" (2023), algorithms 1 and 2; here every product is a batched
// GEMM over all heads, so that one text serves every backend.
#pragma once

#include "kernels/gemm/gemm.hpp"
#include "kernels/spans.hpp"
#include "kokkos_types.hpp"

namespace lexikos::attention {

/// Rows of queries and of keys that one tile holds.
inline constexpr Index tile = 128;
inline Index tile_of(Index t) { return t < tile ? t : tile; }

/// Elements of Wide<A> that forward and backward need as workspace, for G = B H heads. Where A is
/// narrower, products need tiles of A besides those of sums.
template <class A>
inline constexpr bool narrow = !std::is_same_v<A, Wide<A>>;
template <class A>
Index narrow_elements(Index count) {
  return narrow<A>
             ? (count * Index(sizeof(A)) + Index(sizeof(Wide<A>)) - 1) / Index(sizeof(Wide<A>))
             : count;
}
template <class A>
Index forward_workspace(Index heads, Index t, Index width) {
  const Index area = tile_of(t) * tile_of(t);
  return heads * (area + tile_of(t) * (width + 2)) +
         (narrow<A> ? narrow_elements<A>(heads * area) : 0);
}
template <class A>
Index backward_workspace(Index heads, Index t, Index width) {
  const Index area = tile_of(t) * tile_of(t);
  return heads * (2 * area + t) + narrow_elements<A>(heads * t * width) +
         (narrow<A> ? 2 * narrow_elements<A>(heads * area) : 0);
}

/// Keys that a query of T positions sees on average in a causal window of `window` (0: all before).
inline double mean_keys(Index t, Index window) {
  const double all = static_cast<double>(t);
  if (window <= 0 || window >= t) return (all + 1) / 2;
  const double w = static_cast<double>(window);
  return w - w * (w - 1) / (2 * all);
}

/// Reads q, k, v [B H T E] and which keys each query sees (Sight(): causal attention); overwrites o
/// [N C] (heads side by side), lse [B H T] (natural log of the softmax denominators) and the
/// workspace. Logits, softmax and sums are in Wide<A>; weights are rounded to A for the second
/// product.
template <class A>
void forward(const ExecSpace& space, const Sight& sight, View4<const A> q, View4<const A> k,
             View4<const A> v, View2<A> o, View3<Wide<A>> lse, View1<Wide<A>> workspace);

/// Reads dout [N C], q, k, v, o, lse as forward left them; overwrites dq, dk, dv [B H T E] and the
/// workspace.
template <class A>
void backward(const ExecSpace& space, const Sight& sight, View2<const A> dout, View4<const A> q,
              View4<const A> k, View4<const A> v, View2<const A> o, View3<const Wide<A>> lse,
              View4<Wide<A>> dq, View4<Wide<A>> dk, View4<Wide<A>> dv, View1<Wide<A>> workspace);

}  // namespace lexikos::attention

// Causal multi-head attention, tiled: o = softmax(scale q k^T + causal mask) v, head by head.
// The softmax is online: key tile after key tile, with a running largest logit and a running sum,
// so no T x T buffer exists. Backward recomputes the tiles from the stored log-sum-exp.
// Source: Dao, "FlashAttention-2" (2023), algorithms 1 and 2; here every product is a batched
// GEMM over all heads, so that one text serves every backend.
#pragma once

#include "kernels/gemm.hpp"
#include "kernels/spans.hpp"
#include "kokkos_types.hpp"

namespace lexikos::attention {

/// Rows of queries and of keys that one tile holds.
inline constexpr Index tile = 128;
inline Index tile_of(Index t) { return t < tile ? t : tile; }

/// Elements of S that forward and backward need as workspace, for G = B H heads.
inline Index forward_workspace(Index heads, Index t, Index width) {
  return heads * tile_of(t) * (tile_of(t) + width + 2);
}
inline Index backward_workspace(Index heads, Index t, Index width) {
  return heads * (2 * tile_of(t) * tile_of(t) + t * width + t);
}

/// Reads q, k, v [B H T E] and which keys each query sees (plain spans: causal); overwrites o [N C] (heads side by side), lse [B H T] (natural log of
/// the softmax denominators) and the workspace.
template <class S>
void forward(const ExecSpace& space, const Spans& spans, View4<const S> q, View4<const S> k,
             View4<const S> v, View2<S> o, View3<S> lse, View1<S> workspace);

/// Reads dout [N C], q, k, v, o, lse as forward left them; overwrites dq, dk, dv [B H T E] and the
/// workspace.
template <class S>
void backward(const ExecSpace& space, const Spans& spans, View2<const S> dout, View4<const S> q,
              View4<const S> k, View4<const S> v, View2<const S> o, View3<const S> lse,
              View4<S> dq, View4<S> dk, View4<S> dv, View1<S> workspace);

}  // namespace lexikos::attention

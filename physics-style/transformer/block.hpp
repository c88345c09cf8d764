// One block: its parameters and its activations.
// N = B T positions, C width, H heads, E = C / H, F hidden width of the MLP, M inputs of a hidden
// unit (Settings::mlp_inputs), G heads of keys and values.
#pragma once

#include "state/factor.hpp"
#include "transformer/settings.hpp"

namespace lexikos::transformer {

template <class S, class A>
struct BlockWeights {
  Weight<S> attention_norm;  // [C]
  Factor<S, A> qkv;          // [C + 2 G E, C]
  Weight<S> q_norm, k_norm;  // [E] with Settings::qk_norm
  Factor<S, A> out;          // [C C]
  Weight<S> mlp_norm;        // [C]
  Factor<S, A> up;           // [M F, C]
  Factor<S, A> down;         // [C F]
};

/// What forward leaves and backward reads. Where backward computes a block again, all blocks share
/// everything but x.
template <class S, class A>
struct BlockRows {
  Rows<S> x;         // [N C] the residual stream before the block
  Rows<A> y1;        // [N C] its norm
  Rows<S> rstd1;     // [N]
  Rows<A> q, k, v;   // [B H T E]
  Rows<A> raw;       // [N, (H + G) E] queries and keys before QK-norm
  Rows<S> raw_rstd;  // [N, H + G]
  Rows<A> o;         // [N C] what attention gives, heads side by side
  Rows<S> lse;       // [B H T] logarithms of the softmax denominators
  Rows<S> x_mid;     // [N C] the residual stream between attention and MLP
  Rows<A> y2;        // [N C] its norm
  Rows<S> rstd2;     // [N]
  Rows<A> up;        // [N, M F]
  Rows<A> hidden;    // [N F]
};

/// Room that the blocks use one after the other.
template <class S, class A>
struct ForwardRoom {
  Rows<A> qkv;        // [N, C + 2 G E]
  Rows<S> workspace;  // of attention
};

template <class S, class A>
struct BackwardRoom {
  Rows<S> dy;            // [N C] gradient of a norm's output
  Rows<A> dout;          // [N C] of attention's output
  Rows<A> dx;            // [N C] of the residual stream as products read it, where A is not S
  Rows<A> dqkv;          // [N, C + 2 G E]
  Rows<S> dq, dk, dv;    // [B H T E]
  Rows<S> head_partial;  // of the gains of QK-norm
  Rows<S> partial;       // of the norms' weights
  Rows<S> workspace;     // of attention
};

}  // namespace lexikos::transformer

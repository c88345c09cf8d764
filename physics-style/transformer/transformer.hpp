// The backbone: L pre-norm blocks, each
//   x <- x + W_o attention(rope(W_qkv norm(x)))       x <- x + W_down mlp(norm(x))
// with RMSNorm, causal multi-head attention, SwiGLU or GELU and no biases, then a last norm.
// Source of the style: Touvron et al., "LLaMA" (2023), section 2.2.
#pragma once

#include <memory>

#include "kernels/spans.hpp"
#include "transformer/settings.hpp"

namespace lexikos::transformer {

/// Activations are laid out for `shape.micro_batch` sequences; each call may bring fewer.
template <class S>
class Transformer {
 public:
  virtual ~Transformer() = default;

  /// Parameters transformer.<l>.{attention_norm,qkv,out,mlp_norm,up,down}, with QK-norm also
  /// {q_norm,k_norm}, and transformer.norm.
  virtual void declare(Parameters<S>& parameters, Memory& memory) = 0;
  /// To be called once the memory is there: computes what stays.
  virtual void prepare(const ExecSpace& space) = 0;
  /// To be called where parameters have changed: what was made from them is made again.
  virtual void refresh(const ExecSpace& space) = 0;

  /// Where the embedding's rows go: x [N C], N = sequences * context.
  virtual View2<S> input(Index sequences) const = 0;
  /// What the head reads: the normalised last x [N C].
  virtual View2<S> output(Index sequences) const = 0;
  /// Where the head leaves its gradient; backward reads it. [N C]
  virtual View2<S> output_gradient(Index sequences) const = 0;
  /// The gradient of the residual stream [N C]: after the last block's backward, of input().
  virtual View2<S> gradient(Index sequences) const = 0;

  /// Reads input(); overwrites output() and what backward reads. `spans`: which keys each position
  /// sees; plain spans are causal attention over the whole sequence.
  virtual void forward(const ExecSpace& space, const Spans& spans, Index sequences) = 0;

  /// One position more of each of `sequences` texts, after what forward or earlier calls have left
  /// in the cache of keys and values. Reads decode_input(); overwrites decode_output() and row
  /// `position` of the cache. What backward would need is gone. Errors (Status::deck): under
  /// Recompute::block, which keeps no cache.
  virtual void decode(const ExecSpace& space, Index sequences, Index position) = 0;
  /// Rows of one position [B C].
  virtual View2<S> decode_input(Index sequences) const = 0;
  virtual View2<S> decode_output(Index sequences) const = 0;
  /// Makes the cache of sequences 1 ... sequences - 1 that of sequence 0.
  virtual void spread_cache(const ExecSpace& space, Index sequences) = 0;

  /// Backward, piece by piece so that the caller can reduce each piece's gradients at once:
  /// first the last norm, then blocks L-1 ... 0, with forward's spans. Adds to parameter gradients.
  virtual void backward_norm(const ExecSpace& space, Index sequences) = 0;
  virtual void backward_block(const ExecSpace& space, const Spans& spans, Index layer,
                              Index sequences) = 0;

  /// Elements of the parameter arenas of a block, and of the last norm.
  virtual ArenaRange block_range(Index layer) const = 0;
  virtual ArenaRange norm_range() const = 0;

  virtual Costs costs() const = 0;
};

/// Errors (Status::deck): bf16 with a model that is not fp32.
template <class S>
std::unique_ptr<Transformer<S>> make(const Settings& settings, const ModelShape& shape,
                                     const Execution& execution);

}  // namespace lexikos::transformer

// The backbone: L pre-norm blocks, each
//   x <- x + W_o attention(rope(W_qkv norm(x)))       x <- x + W_down mlp(norm(x))
// with RMSNorm, causal multi-head attention, SwiGLU or GELU and no biases, then a last norm.
// Source of the style: Touvron et al., "LLaMA" (2023), section 2.2.
#pragma once

#include <vector>

#include "kernels/spans.hpp"
#include "package.hpp"

namespace lexikos::transformer {

enum class Mlp { swiglu, gelu };

struct Settings {
  Index layers, width, heads, kv_heads, mlp_width, context;
  Mlp mlp;
  double rope_base, norm_epsilon, init_deviation;
  Index head_width() const { return width / heads; }
  /// Rows of W_qkv: those of all query heads, then of the key and of the value heads.
  Index qkv_width() const { return width + 2 * kv_heads * head_width(); }
  /// Rows of the first MLP matrix for each hidden unit: gate and up, or up alone.
  Index mlp_inputs() const { return mlp == Mlp::swiglu ? 2 : 1; }
};

/// Reads deck table [transformer]. Throws Error(deck) where widths do not divide.
Settings read(const DeckTable& table);

/// Activations are laid out for `shape.micro_batch` sequences; each call may bring fewer.
template <class S>
class Transformer {
 public:
  Transformer(const Settings& settings, const ModelShape& shape);

  /// Parameters transformer.<l>.{attention_norm,qkv,out,mlp_norm,up,down}, transformer.norm.
  void declare(ParameterList& list);
  void plan(MemoryPlan& plan);
  void bind(const Parameters<S>& parameters, const Arena& arena);

  /// Where the embedding's rows go: x [N C], N = sequences * context.
  View2<S> input(Index sequences) const { return stream(0, sequences * settings_.context); }
  /// What the head reads: the normalised last x [N C].
  View2<S> output(Index sequences) const;
  /// Where the head leaves its gradient; backward reads it. [N C]
  View2<S> output_gradient(Index sequences) const;
  /// The gradient of the residual stream [N C]: after the last block's backward, of input().
  View2<S> gradient(Index sequences) const;

  /// Reads input(); overwrites output() and what backward reads. `spans`: which keys each position
  /// sees; plain spans are causal attention over the whole sequence.
  void forward(const ExecSpace& space, const Spans& spans, Index sequences);

  /// One position more of each of `sequences` texts, after what forward or earlier calls have left
  /// in the cache of keys and values. Reads decode_input(); overwrites decode_output() and row
  /// `position` of the cache. What backward would need is gone.
  void decode(const ExecSpace& space, Index sequences, Index position);
  /// Rows of one position [B C].
  View2<S> decode_input(Index sequences) const { return stream(0, sequences); }
  View2<S> decode_output(Index sequences) const;
  /// Makes the cache of sequences 1 ... sequences - 1 that of sequence 0.
  void spread_cache(const ExecSpace& space, Index sequences);

  /// Backward, piece by piece so that the caller can reduce each piece's gradients at once:
  /// first the last norm, then blocks L-1 ... 0, with forward's spans. Adds to parameter gradients.
  void backward_norm(const ExecSpace& space, Index sequences);
  void backward_block(const ExecSpace& space, const Spans& spans, Index layer, Index sequences);

  /// Elements of the parameter arenas of a block, and of the last norm.
  ArenaRange block_range(const ParameterList& list, Index layer) const;
  ArenaRange norm_range(const ParameterList& list) const;

  Counts counts() const;
  const Settings& settings() const { return settings_; }

 private:
  struct BlockIds {
    ParameterId attention_norm, qkv, out, mlp_norm, up, down;
  };
  struct BlockSlots {
    Slot y1, rstd1, q, k, v, o, lse, x_mid, y2, rstd2, up, hidden;
  };

  View2<S> stream(Index layer, Index rows) const;
  View4<S> heads_view(const Slot& slot, Index sequences) const;
  View2<S> matrix(const Slot& slot, Index rows, Index cols) const;
  void forward_qkv(const ExecSpace& space, Index layer, Index rows);
  void forward_out(const ExecSpace& space, Index layer, Index rows);
  void forward_norm(const ExecSpace& space, Index rows);
  void forward_attention(const ExecSpace& space, const Spans& spans, Index layer, Index sequences);
  void forward_mlp(const ExecSpace& space, Index layer, Index rows);
  void backward_attention(const ExecSpace& space, const Spans& spans, Index layer,
                          Index sequences);
  void backward_mlp(const ExecSpace& space, Index layer, Index sequences);

  Settings settings_;
  ModelShape shape_;
  std::vector<BlockIds> ids_;
  ParameterId norm_id_;
  std::vector<BlockSlots> slots_;
  std::vector<Slot> stream_slots_;  // x before block l, and before the last norm
  Slot cosine_, sine_, output_, output_rstd_, output_gradient_, gradient_;
  Slot delta_, qkv_, forward_workspace_;                                // forward's scratch
  Slot dy_, dqkv_, dq_, dk_, dv_, partial_, backward_workspace_;        // backward's
  const Parameters<S>* parameters_ = nullptr;
  const Arena* arena_ = nullptr;
};

}  // namespace lexikos::transformer

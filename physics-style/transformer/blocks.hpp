// The transformer's blocks with activations of type A and everything else of type S.
#pragma once

#include <vector>

#include "transformer/block.hpp"
#include "transformer/transformer.hpp"

namespace lexikos::transformer {

/// What passes through the blocks together: whole sequences, or one position of each text.
struct Pass {
  Index sequences = 0;
  Index rows = 0;  // N
  Spans spans;
  Index place = -1;  // of the one position; -1: whole sequences
  bool decodes() const { return place >= 0; }
};

/// A is S, or Bf16 where S is float. See Transformer for what the functions do.
template <class S, class A>
class Blocks final : public Transformer<S> {
 public:
  Blocks(const Settings& settings, const ModelShape& shape, Recompute recompute);

  void declare(Parameters<S>& parameters, Memory& memory) override;
  void prepare(const ExecSpace& space) override;
  void refresh(const ExecSpace& space) override;

  View2<S> input(Index sequences) const override { return blocks_[0].x(rows_of(sequences)); }
  View2<S> output(Index sequences) const override { return output_(rows_of(sequences)); }
  View2<S> output_gradient(Index sequences) const override {
    return output_gradient_(rows_of(sequences));
  }
  View2<S> gradient(Index sequences) const override { return gradient_(rows_of(sequences)); }
  void forward(const ExecSpace& space, const Spans& spans, Index sequences) override;

  void decode(const ExecSpace& space, Index sequences, Index position) override;
  View2<S> decode_input(Index sequences) const override { return blocks_[0].x(sequences); }
  View2<S> decode_output(Index sequences) const override { return output_(sequences); }
  void spread_cache(const ExecSpace& space, Index sequences) override;

  void backward_norm(const ExecSpace& space, Index sequences) override;
  void backward_block(const ExecSpace& space, const Spans& spans, Index layer,
                      Index sequences) override;

  ArenaRange block_range(Index layer) const override;
  ArenaRange norm_range() const override { return norm_.range(); }
  Costs costs() const override;

 private:
  static constexpr bool rounds = !std::is_same_v<S, A>;

  /// Which part of a block is computed: all of it; what backward reads, from an x that is there
  /// already; or of that only the MLP's hidden layer.
  enum class Part { all, kept, hidden };

  Index rows_of(Index sequences) const { return sequences * settings_.context; }
  BlockWeights<S, A> declare_weights(Parameters<S>& parameters, Memory& memory, Index layer) const;
  BlockRows<S, A> declare_rows(Memory& memory, Index layer) const;
  void declare_room(Memory& memory);
  template <class T>
  View4<T> heads(const Rows<T>& rows, Index sequences) const;  // [B H T E]
  View3<S> row_sums(const Rows<S>& rows, Index sequences) const;
  View2<const A> rounded_gradient(const ExecSpace& space, Index rows) const;

  void pass_all(const ExecSpace& space, const Pass& pass) const;
  void forward_block(const ExecSpace& space, const Pass& pass, Index layer, Part part) const;
  Sight sight_of(const Pass& pass, Index layer) const;
  void attend(const ExecSpace& space, const Pass& pass, Index layer) const;
  void recompute_block(const ExecSpace& space, const Pass& pass, Index layer) const;
  void backward_mlp(const ExecSpace& space, Index layer, Index rows) const;
  void backward_attention(const ExecSpace& space, const Pass& pass, Index layer) const;

  Settings settings_;
  ModelShape shape_;
  Recompute recompute_;
  std::vector<BlockWeights<S, A>> weights_;
  std::vector<BlockRows<S, A>> blocks_;
  Weight<S> norm_;           // [C] of the last norm
  Rows<S> last_x_, output_;  // [N C] before and after it
  Rows<S> output_rstd_;      // [N]
  Rows<S> output_gradient_;  // [N C]
  Rows<S> gradient_;         // [N C] of the residual stream
  Rows<S> branch_;           // [N C] what attention or MLP adds to the residual stream
  Rows<S> cosine_, sine_;    // [T E/2] of the rotary positions
  ForwardRoom<S, A> room_;
  BackwardRoom<S, A> backward_room_;
};

}  // namespace lexikos::transformer

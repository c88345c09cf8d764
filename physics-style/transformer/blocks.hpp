// The transformer's blocks with activations of type A and everything else of type S.
#pragma once

#include <vector>

#include "transformer/transformer.hpp"

namespace lexikos::transformer {

/// A is S, or Bf16 where S is float. See Transformer for what the functions do.
template <class S, class A>
class Blocks final : public Transformer<S> {
 public:
  Blocks(const Settings& settings, const ModelShape& shape, Recompute recompute);

  void declare(ParameterList& list) override;
  void plan(MemoryPlan& plan) override;
  void bind(const Parameters<S>& parameters, const Arena& arena) override;
  void refresh(const ExecSpace& space) override;

  View2<S> input(Index sequences) const override {
    return stream(0, sequences * settings_.context);
  }
  View2<S> output(Index sequences) const override;
  View2<S> output_gradient(Index sequences) const override;
  View2<S> gradient(Index sequences) const override;
  void forward(const ExecSpace& space, const Spans& spans, Index sequences) override;

  void decode(const ExecSpace& space, Index sequences, Index position) override;
  View2<S> decode_input(Index sequences) const override { return stream(0, sequences); }
  View2<S> decode_output(Index sequences) const override;
  void spread_cache(const ExecSpace& space, Index sequences) override;

  void backward_norm(const ExecSpace& space, Index sequences) override;
  void backward_block(const ExecSpace& space, const Spans& spans, Index layer,
                      Index sequences) override;

  ArenaRange block_range(const ParameterList& list, Index layer) const override;
  ArenaRange norm_range(const ParameterList& list) const override;
  Counts counts() const override;

 private:
  static constexpr bool rounds = !std::is_same_v<S, A>;

  struct BlockIds {
    ParameterId attention_norm, qkv, out, mlp_norm, up, down;
  };
  /// The matrices in A, where that is not S.
  struct BlockCopies {
    Slot qkv, out, up, down;
  };
  struct BlockSlots {
    Slot y1, rstd1, q, k, v, o, lse, x_mid, y2, rstd2, up, hidden;
  };

  void plan_block(MemoryPlan& plan, Index layer);
  template <class T>
  View2<T> matrix(const Slot& slot, Index rows, Index cols) const {
    return arena_->template view2<T>(slot, rows, cols);
  }
  template <class T>
  View4<T> heads_view(const Slot& slot, Index sequences) const {
    return View4<T>(arena_->template at<T>(slot), sequences, settings_.heads, settings_.context,
                    settings_.head_width());
  }
  View1<S> workspace(const Slot& slot) const {
    return View1<S>(arena_->template at<S>(slot), slot.bytes / Index(sizeof(S)));
  }
  View2<S> stream(Index layer, Index rows) const;
  View2<S> rope_table(const Slot& slot) const;
  View2<const A> weight(ParameterId id, const Slot& copy) const;
  View2<const A> rounded_gradient(const ExecSpace& space, Index sequences) const;

  enum class Add { branch, nothing };
  void forward_qkv(const ExecSpace& space, Index layer, Index rows, Add add);
  void forward_out(const ExecSpace& space, Index layer, Index rows);
  void forward_norm(const ExecSpace& space, Index rows);
  void forward_attention(const ExecSpace& space, const Spans& spans, Index layer, Index sequences);
  void forward_mlp_norm(const ExecSpace& space, Index layer, Index rows);
  void forward_hidden(const ExecSpace& space, Index layer, Index rows);
  void forward_down(const ExecSpace& space, Index layer, Index rows);
  void recompute_block(const ExecSpace& space, const Spans& spans, Index layer, Index sequences);
  void backward_attention(const ExecSpace& space, const Spans& spans, Index layer, Index sequences);
  void backward_mlp(const ExecSpace& space, Index layer, Index sequences);

  Settings settings_;
  ModelShape shape_;
  Recompute recompute_;
  std::vector<BlockIds> ids_;
  ParameterId norm_id_;
  std::vector<BlockCopies> copies_;
  std::vector<BlockSlots> slots_;
  std::vector<Slot> stream_slots_;  // x before block l, and before the last norm
  Slot cosine_, sine_, output_, output_rstd_, output_gradient_, gradient_;
  Slot delta_, qkv_, forward_workspace_;                                      // forward's scratch
  Slot dy_, dout_, dx_, dqkv_, dq_, dk_, dv_, partial_, backward_workspace_;  // backward's
  const Parameters<S>* parameters_ = nullptr;
  const Arena* arena_ = nullptr;
};

}  // namespace lexikos::transformer

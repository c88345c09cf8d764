#include "transformer/blocks.hpp"

#include <cmath>

#include "kernels/attention.hpp"
#include "kernels/gelu.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/narrow.hpp"
#include "kernels/rmsnorm.hpp"
#include "kernels/rope.hpp"
#include "kernels/swiglu.hpp"

namespace lexikos::transformer {

template <class S, class A>
Blocks<S, A>::Blocks(const Settings& settings, const ModelShape& shape, Recompute recompute)
    : settings_(settings), shape_(shape), recompute_(recompute) {}

template <class S, class A>
void Blocks<S, A>::declare(ParameterList& list) {
  const Index c = settings_.width, f = settings_.mlp_width;
  const Init plain{.deviation = settings_.init_deviation};
  const Init residual{.deviation = settings_.init_deviation / std::sqrt(2.0 * settings_.layers)};
  const Init one{.mean = 1.0};
  for (Index l = 0; l < settings_.layers; ++l) {
    const std::string block = "transformer." + std::to_string(l) + ".";
    BlockIds ids;
    ids.attention_norm = list.add(block + "attention_norm", {c}, one, Decay::none);
    ids.qkv = list.add(block + "qkv", {settings_.qkv_width(), c}, plain, Decay::to_zero);
    ids.out = list.add(block + "out", {c, c}, residual, Decay::to_zero);
    ids.mlp_norm = list.add(block + "mlp_norm", {c}, one, Decay::none);
    ids.up = list.add(block + "up", {settings_.mlp_inputs() * f, c}, plain, Decay::to_zero);
    ids.down = list.add(block + "down", {c, f}, residual, Decay::to_zero);
    ids_.push_back(ids);
  }
  norm_id_ = list.add("transformer.norm", {c}, one, Decay::none);
}

/// Activations of one block: its own, or those of the block before where backward computes them
/// again.
template <class S, class A>
void Blocks<S, A>::plan_block(MemoryPlan& plan, Index layer) {
  const Index n = shape_.positions(), c = settings_.width, f = settings_.mlp_width;
  const bool own = layer == 0 || recompute_ != Recompute::block;
  const bool own_hidden = layer == 0 || recompute_ == Recompute::none;
  const std::string block =
      recompute_ == Recompute::block ? "a block's " : "block " + std::to_string(layer) + " ";
  BlockSlots s = layer == 0 ? BlockSlots() : slots_.back();
  if (own) {
    s.y1 = plan.keep<A>(block + "attention norm", n * c);
    s.rstd1 = plan.keep<S>(block + "attention rstd", n);
    s.q = plan.keep<A>(block + "q", n * c);
    s.k = plan.keep<A>(block + "k", n * c);
    s.v = plan.keep<A>(block + "v", n * c);
    s.o = plan.keep<A>(block + "attention", n * c);
    s.lse = plan.keep<S>(block + "log-sum-exp", n * settings_.heads);
    s.x_mid = plan.keep<S>(block + "middle", n * c);
    s.y2 = plan.keep<A>(block + "mlp norm", n * c);
    s.rstd2 = plan.keep<S>(block + "mlp rstd", n);
  }
  if (own_hidden) {
    s.up = plan.keep<A>(block + "up", settings_.mlp_inputs() * n * f);
    s.hidden = plan.keep<A>(block + "hidden", n * f);
  }
  slots_.push_back(s);
}

template <class S, class A>
void Blocks<S, A>::plan(MemoryPlan& plan) {
  const Index n = shape_.positions(), c = settings_.width, f = settings_.mlp_width;
  const Index total_heads = shape_.micro_batch * settings_.heads;
  const Index t = settings_.context, e = settings_.head_width();
  for (Index l = 0; l < settings_.layers; ++l) {
    stream_slots_.push_back(plan.keep<S>("block " + std::to_string(l) + " input", n * c));
    plan_block(plan, l);
    if (!rounds) continue;
    const std::string block = "block " + std::to_string(l) + " rounded ";
    BlockCopies copies;
    copies.qkv = plan.keep<A>(block + "qkv matrix", settings_.qkv_width() * c);
    copies.out = plan.keep<A>(block + "out matrix", c * c);
    copies.up = plan.keep<A>(block + "up matrix", settings_.mlp_inputs() * f * c);
    copies.down = plan.keep<A>(block + "down matrix", c * f);
    copies_.push_back(copies);
  }
  copies_.resize(settings_.layers);
  stream_slots_.push_back(plan.keep<S>("last residual", n * c));
  output_ = plan.keep<S>("output", n * c);
  output_rstd_ = plan.keep<S>("output rstd", n);
  output_gradient_ = plan.keep<S>("output gradient", n * c);
  gradient_ = plan.keep<S>("residual gradient", n * c);
  cosine_ = plan.keep<S>("rope cosine", t * e / 2);
  sine_ = plan.keep<S>("rope sine", t * e / 2);
  delta_ = plan.keep<S>("residual branch", n * c);

  plan.begin_phase();
  qkv_ = plan.scratch<A>("qkv", n * settings_.qkv_width());
  forward_workspace_ = plan.scratch<S>("attention forward workspace",
                                       attention::forward_workspace<A>(total_heads, t, e));
  plan.begin_phase();
  dy_ = plan.scratch<S>("gradient of a norm's output", n * c);
  dout_ = plan.scratch<A>("gradient of attention", n * c);
  if (rounds) dx_ = plan.scratch<A>("rounded residual gradient", n * c);
  dqkv_ = plan.scratch<A>("gradient of qkv", n * settings_.qkv_width());
  dq_ = plan.scratch<S>("gradient of q", n * c);
  dk_ = plan.scratch<S>("gradient of k", n * c);
  dv_ = plan.scratch<S>("gradient of v", n * c);
  partial_ = plan.scratch<S>("norm weight partial sums", rmsnorm::partial_rows(n) * c);
  backward_workspace_ = plan.scratch<S>("attention backward workspace",
                                        attention::backward_workspace<A>(total_heads, t, e));
}

template <class S, class A>
void Blocks<S, A>::bind(const Parameters<S>& parameters, const Arena& arena) {
  parameters_ = &parameters;
  arena_ = &arena;
  rope::fill_tables<S>(ExecSpace(), settings_.rope_base, rope_table(cosine_), rope_table(sine_));
}

template <class S, class A>
void Blocks<S, A>::refresh(const ExecSpace& space) {
  if constexpr (rounds) {
    for (Index l = 0; l < settings_.layers; ++l) {
      const auto round = [&](ParameterId id, const Slot& copy) {
        const View2<S> full = parameters_->value2(id);
        narrow_into<A>(space, full, matrix<A>(copy, full.extent(0), full.extent(1)));
      };
      round(ids_[l].qkv, copies_[l].qkv);
      round(ids_[l].out, copies_[l].out);
      round(ids_[l].up, copies_[l].up);
      round(ids_[l].down, copies_[l].down);
    }
  }
}

template <class S, class A>
View2<const A> Blocks<S, A>::weight(ParameterId id, [[maybe_unused]] const Slot& copy) const {
  const View2<S> full = parameters_->value2(id);
  if constexpr (rounds) {
    return matrix<A>(copy, full.extent(0), full.extent(1));
  } else {
    return full;
  }
}

/// gradient() as products read it.
template <class S, class A>
View2<const A> Blocks<S, A>::rounded_gradient(const ExecSpace& space, Index sequences) const {
  const View2<S> dx = gradient(sequences);
  if constexpr (rounds) {
    const View2<A> to = matrix<A>(dx_, dx.extent(0), dx.extent(1));
    narrow_into<A>(space, dx, to);
    return to;
  } else {
    return dx;
  }
}

template <class S, class A>
View2<S> Blocks<S, A>::stream(Index layer, Index rows) const {
  return matrix<S>(stream_slots_[layer], rows, settings_.width);
}

template <class S, class A>
View2<S> Blocks<S, A>::rope_table(const Slot& slot) const {
  return matrix<S>(slot, settings_.context, settings_.head_width() / 2);
}

template <class S, class A>
View2<S> Blocks<S, A>::output(Index sequences) const {
  return matrix<S>(output_, sequences * settings_.context, settings_.width);
}

template <class S, class A>
View2<S> Blocks<S, A>::output_gradient(Index sequences) const {
  return matrix<S>(output_gradient_, sequences * settings_.context, settings_.width);
}

template <class S, class A>
View2<S> Blocks<S, A>::gradient(Index sequences) const {
  return matrix<S>(gradient_, sequences * settings_.context, settings_.width);
}

template <class S, class A>
void Blocks<S, A>::forward(const ExecSpace& space, const Spans& spans, Index sequences) {
  const Region region("Lexikos::transformer::forward");
  const Index n = sequences * settings_.context;
  for (Index l = 0; l < settings_.layers; ++l) {
    forward_qkv(space, l, n, l == 0 ? Add::nothing : Add::branch);
    forward_attention(space, spans, l, sequences);
    forward_out(space, l, n);
    forward_mlp_norm(space, l, n);
    forward_hidden(space, l, n);
    forward_down(space, l, n);
  }
  forward_norm(space, n);
}

/// The last norm: output = norm(x_mid of the last block + its MLP's branch).
template <class S, class A>
void Blocks<S, A>::forward_norm(const ExecSpace& space, Index n) {
  const Index l = settings_.layers, c = settings_.width;
  rmsnorm::forward_add<S>(space, matrix<S>(slots_[l - 1].x_mid, n, c), matrix<S>(delta_, n, c),
                          parameters_->value1(norm_id_), settings_.norm_epsilon, stream(l, n),
                          matrix<S>(output_, n, c), arena_->template view1<S>(output_rstd_, n));
}

/// x_l = x_mid of the block before + its MLP's branch, unless x_l is there already;
/// qkv = W_qkv norm(x_l).
template <class S, class A>
void Blocks<S, A>::forward_qkv(const ExecSpace& space, Index layer, Index n, Add add) {
  const Index c = settings_.width;
  const BlockSlots& s = slots_[layer];
  const BlockIds& id = ids_[layer];
  const View2<S> x = stream(layer, n);
  const View2<A> y = matrix<A>(s.y1, n, c);
  const View1<S> rstd = arena_->template view1<S>(s.rstd1, n);
  const View1<S> gain = parameters_->value1(id.attention_norm);
  if (add == Add::nothing) {
    rmsnorm::forward<S>(space, x, gain, settings_.norm_epsilon, y, rstd);
  } else {
    rmsnorm::forward_add<S>(space, matrix<S>(slots_[layer - 1].x_mid, n, c),
                            matrix<S>(delta_, n, c), gain, settings_.norm_epsilon, x, y, rstd);
  }
  gemm<A>(space, Op::none, Op::transpose, S(1), y, weight(id.qkv, copies_[layer].qkv), S(0),
          matrix<A>(qkv_, n, settings_.qkv_width()));
}

template <class S, class A>
void Blocks<S, A>::forward_attention(const ExecSpace& space, const Spans& spans, Index layer,
                                     Index sequences) {
  const Index n = sequences * settings_.context;
  const BlockSlots& s = slots_[layer];
  const View4<A> q = heads_view<A>(s.q, sequences), k = heads_view<A>(s.k, sequences),
                 v = heads_view<A>(s.v, sequences);
  rope::forward<A>(space, spans, matrix<A>(qkv_, n, settings_.qkv_width()), rope_table(cosine_),
                   rope_table(sine_), settings_.heads, q, k, v);
  attention::forward<A>(
      space, spans, q, k, v, matrix<A>(s.o, n, settings_.width),
      View3<S>(arena_->template at<S>(s.lse), sequences, settings_.heads, settings_.context),
      workspace(forward_workspace_));
}

/// Attention's branch: W_o o.
template <class S, class A>
void Blocks<S, A>::forward_out(const ExecSpace& space, Index layer, Index n) {
  const Index c = settings_.width;
  gemm<A>(space, Op::none, Op::transpose, S(1), matrix<A>(slots_[layer].o, n, c),
          weight(ids_[layer].out, copies_[layer].out), S(0), matrix<S>(delta_, n, c));
}

/// x_mid = x_l + attention's branch; y2 = norm(x_mid).
template <class S, class A>
void Blocks<S, A>::forward_mlp_norm(const ExecSpace& space, Index layer, Index n) {
  const Index c = settings_.width;
  const BlockSlots& s = slots_[layer];
  rmsnorm::forward_add<S>(space, stream(layer, n), matrix<S>(delta_, n, c),
                          parameters_->value1(ids_[layer].mlp_norm), settings_.norm_epsilon,
                          matrix<S>(s.x_mid, n, c), matrix<A>(s.y2, n, c),
                          arena_->template view1<S>(s.rstd2, n));
}

/// hidden = activation(W_up y2).
template <class S, class A>
void Blocks<S, A>::forward_hidden(const ExecSpace& space, Index layer, Index n) {
  const Index c = settings_.width, f = settings_.mlp_width;
  const BlockSlots& s = slots_[layer];
  const View2<A> up = matrix<A>(s.up, n, settings_.mlp_inputs() * f);
  const View2<A> hidden = matrix<A>(s.hidden, n, f);
  gemm<A>(space, Op::none, Op::transpose, S(1), matrix<A>(s.y2, n, c),
          weight(ids_[layer].up, copies_[layer].up), S(0), up);
  if (settings_.mlp == Mlp::swiglu) {
    swiglu::forward<A>(space, up, hidden);
  } else {
    gelu::forward<A>(space, up, hidden);
  }
}

/// The MLP's branch: W_down hidden.
template <class S, class A>
void Blocks<S, A>::forward_down(const ExecSpace& space, Index layer, Index n) {
  const Index c = settings_.width, f = settings_.mlp_width;
  gemm<A>(space, Op::none, Op::transpose, S(1), matrix<A>(slots_[layer].hidden, n, f),
          weight(ids_[layer].down, copies_[layer].down), S(0), matrix<S>(delta_, n, c));
}

template <class S, class A>
void Blocks<S, A>::backward_norm(const ExecSpace& space, Index sequences) {
  const Index n = sequences * settings_.context, c = settings_.width;
  const View2<S> dx = gradient(sequences);
  Kokkos::deep_copy(space, dx, S(0));
  rmsnorm::backward<S>(space, output_gradient(sequences), stream(settings_.layers, n),
                       parameters_->value1(norm_id_), arena_->template view1<S>(output_rstd_, n),
                       dx, parameters_->gradient1(norm_id_),
                       matrix<S>(partial_, rmsnorm::partial_rows(n), c));
}

template <class S, class A>
void Blocks<S, A>::backward_block(const ExecSpace& space, const Spans& spans, Index layer,
                                  Index sequences) {
  const Region region("Lexikos::transformer::backward");
  recompute_block(space, spans, layer, sequences);
  backward_mlp(space, layer, sequences);
  backward_attention(space, spans, layer, sequences);
}

/// What forward did not keep. The last block needs nothing: no other has used its place since.
template <class S, class A>
void Blocks<S, A>::recompute_block(const ExecSpace& space, const Spans& spans, Index layer,
                                   Index sequences) {
  if (recompute_ == Recompute::none || layer == settings_.layers - 1) return;
  const Region region("Lexikos::transformer::recompute");
  const Index n = sequences * settings_.context;
  if (recompute_ == Recompute::block) {
    forward_qkv(space, layer, n, Add::nothing);
    forward_attention(space, spans, layer, sequences);
    forward_out(space, layer, n);
    forward_mlp_norm(space, layer, n);
  }
  forward_hidden(space, layer, n);
}

template <class S, class A>
void Blocks<S, A>::backward_mlp(const ExecSpace& space, Index layer, Index sequences) {
  const Index n = sequences * settings_.context, c = settings_.width, f = settings_.mlp_width;
  const BlockSlots& s = slots_[layer];
  const BlockIds& id = ids_[layer];
  const View2<S> dy = matrix<S>(dy_, n, c);
  const View2<const A> dx = rounded_gradient(space, sequences);
  const View2<A> up = matrix<A>(s.up, n, settings_.mlp_inputs() * f);
  const View2<A> hidden = matrix<A>(s.hidden, n, f);
  gemm<A>(space, Op::transpose, Op::none, S(1), dx, hidden, S(1), parameters_->gradient2(id.down));
  gemm<A>(space, Op::none, Op::none, S(1), dx, weight(id.down, copies_[layer].down), S(0), hidden);
  if (settings_.mlp == Mlp::swiglu) {
    swiglu::backward<A>(space, hidden, up);
  } else {
    gelu::backward<A>(space, hidden, up);
  }
  gemm<A>(space, Op::transpose, Op::none, S(1), up, matrix<A>(s.y2, n, c), S(1),
          parameters_->gradient2(id.up));
  gemm<A>(space, Op::none, Op::none, S(1), up, weight(id.up, copies_[layer].up), S(0), dy);
  rmsnorm::backward<S>(space, dy, matrix<S>(s.x_mid, n, c), parameters_->value1(id.mlp_norm),
                       arena_->template view1<S>(s.rstd2, n), gradient(sequences),
                       parameters_->gradient1(id.mlp_norm),
                       matrix<S>(partial_, rmsnorm::partial_rows(n), c));
}

template <class S, class A>
void Blocks<S, A>::backward_attention(const ExecSpace& space, const Spans& spans, Index layer,
                                      Index sequences) {
  const Index n = sequences * settings_.context, c = settings_.width;
  const BlockSlots& s = slots_[layer];
  const BlockIds& id = ids_[layer];
  const View2<S> dy = matrix<S>(dy_, n, c);
  const View2<const A> dx = rounded_gradient(space, sequences);
  const View2<A> o = matrix<A>(s.o, n, c), dout = matrix<A>(dout_, n, c),
                 dqkv = matrix<A>(dqkv_, n, settings_.qkv_width());
  const View4<S> dq = heads_view<S>(dq_, sequences), dk = heads_view<S>(dk_, sequences),
                 dv = heads_view<S>(dv_, sequences);
  gemm<A>(space, Op::transpose, Op::none, S(1), dx, o, S(1), parameters_->gradient2(id.out));
  gemm<A>(space, Op::none, Op::none, S(1), dx, weight(id.out, copies_[layer].out), S(0), dout);
  attention::backward<A>(
      space, spans, dout, heads_view<A>(s.q, sequences), heads_view<A>(s.k, sequences),
      heads_view<A>(s.v, sequences), o,
      View3<S>(arena_->template at<S>(s.lse), sequences, settings_.heads, settings_.context), dq,
      dk, dv, workspace(backward_workspace_));
  rope::backward<A>(space, spans, dq, dk, dv, rope_table(cosine_), rope_table(sine_),
                    settings_.heads, dqkv);
  gemm<A>(space, Op::transpose, Op::none, S(1), dqkv, matrix<A>(s.y1, n, c), S(1),
          parameters_->gradient2(id.qkv));
  gemm<A>(space, Op::none, Op::none, S(1), dqkv, weight(id.qkv, copies_[layer].qkv), S(0), dy);
  rmsnorm::backward<S>(space, dy, stream(layer, n), parameters_->value1(id.attention_norm),
                       arena_->template view1<S>(s.rstd1, n), gradient(sequences),
                       parameters_->gradient1(id.attention_norm),
                       matrix<S>(partial_, rmsnorm::partial_rows(n), c));
}

template <class S, class A>
ArenaRange Blocks<S, A>::block_range(const ParameterList& list, Index layer) const {
  return arena_range(list, ids_[layer].attention_norm, ids_[layer].down);
}

template <class S, class A>
ArenaRange Blocks<S, A>::norm_range(const ParameterList& list) const {
  return arena_range(list, norm_id_, norm_id_);
}

template <class S, class A>
Counts Blocks<S, A>::counts() const {
  const Index c = settings_.width, f = settings_.mlp_width, l = settings_.layers;
  const Index matrices =
      l * (c * (settings_.qkv_width() + c) + (settings_.mlp_inputs() + 1) * c * f);
  Counts counts;
  counts.trainable = matrices + (2 * l + 1) * c;
  // Forward 2, backward 4 for each matrix element; attention's q k^T and p v see (T + 1) / 2 keys
  // on average.
  counts.flops_per_token = 6.0 * matrices + 6.0 * l * c * (settings_.context + 1.0);
  return counts;
}

template class Blocks<float, float>;
template class Blocks<double, double>;
template class Blocks<float, Bf16>;

}  // namespace lexikos::transformer

#include "transformer/transformer.hpp"

#include <cmath>

#include "kernels/attention.hpp"
#include "kernels/gelu.hpp"
#include "kernels/gemm.hpp"
#include "kernels/rmsnorm.hpp"
#include "kernels/rope.hpp"
#include "kernels/swiglu.hpp"

namespace lexikos::transformer {

Settings read(const DeckTable& table) {
  Settings s;
  s.layers = table.integer({.name = "layers", .doc = "number of blocks, L"}, 4, AtLeast(1));
  s.width = table.integer({.name = "width", .doc = "model width, D"}, 256, AtLeast(1));
  s.heads = table.integer({.name = "heads", .doc = "attention heads, H; divides width"}, 4,
                          AtLeast(1));
  if (s.width % s.heads != 0) {
    table.reject("heads", "does not divide transformer.width = " + std::to_string(s.width));
  }
  if (s.head_width() % 2 != 0) {
    table.reject("heads", "gives heads of odd width " + std::to_string(s.head_width()) +
                              "; rotary positions need an even one");
  }
  s.kv_heads = table.integer({.name = "kv_heads",
                              .doc = "heads of keys and values, G; divides heads",
                              .default_note = "heads"},
                             s.heads, AtLeast(1));
  if (s.heads % s.kv_heads != 0) {
    table.reject("kv_heads", "does not divide transformer.heads = " + std::to_string(s.heads));
  }
  s.context = table.integer({.name = "context", .doc = "positions of a sequence, T",
                             .unit = "tokens"},
                            256, AtLeast(1));
  s.mlp = table.choice({.name = "mlp", .doc = "the block's hidden layer"}, "swiglu",
                       {"swiglu", "gelu"}) == "swiglu"
              ? Mlp::swiglu
              : Mlp::gelu;
  s.mlp_width = table.integer({.name = "mlp_width", .doc = "hidden width of the MLP",
                               .default_note = "4 width"},
                              4 * s.width, AtLeast(1));
  s.rope_base = table.real({.name = "rope_base", .doc = "base of the rotary wavelengths"}, 10000.0,
                           Positive{});
  s.norm_epsilon = table.real({.name = "norm_epsilon", .doc = "added to the mean square"}, 1e-5,
                              Positive{});
  s.init_deviation = table.real(
      {.name = "init_deviation",
       .doc = "of initial matrices; those that add to the residual get it over sqrt(2 L)"},
      0.02, NonNegative{});
  return s;
}

template <class S>
Transformer<S>::Transformer(const Settings& settings, const ModelShape& shape)
    : settings_(settings), shape_(shape) {}

template <class S>
void Transformer<S>::declare(ParameterList& list) {
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

template <class S>
void Transformer<S>::plan(MemoryPlan& plan) {
  const Index n = shape_.positions(), c = settings_.width, f = settings_.mlp_width;
  const Index total_heads = shape_.micro_batch * settings_.heads;
  const Index t = settings_.context, e = settings_.head_width();
  for (Index l = 0; l < settings_.layers; ++l) {
    const std::string block = "block " + std::to_string(l) + " ";
    stream_slots_.push_back(plan.keep<S>(block + "input", n * c));
    BlockSlots s;
    s.y1 = plan.keep<S>(block + "attention norm", n * c);
    s.rstd1 = plan.keep<S>(block + "attention rstd", n);
    s.q = plan.keep<S>(block + "q", n * c);
    s.k = plan.keep<S>(block + "k", n * c);
    s.v = plan.keep<S>(block + "v", n * c);
    s.o = plan.keep<S>(block + "attention", n * c);
    s.lse = plan.keep<S>(block + "log-sum-exp", n * settings_.heads);
    s.x_mid = plan.keep<S>(block + "middle", n * c);
    s.y2 = plan.keep<S>(block + "mlp norm", n * c);
    s.rstd2 = plan.keep<S>(block + "mlp rstd", n);
    s.up = plan.keep<S>(block + "up", settings_.mlp_inputs() * n * f);
    s.hidden = plan.keep<S>(block + "hidden", n * f);
    slots_.push_back(s);
  }
  stream_slots_.push_back(plan.keep<S>("last residual", n * c));
  output_ = plan.keep<S>("output", n * c);
  output_rstd_ = plan.keep<S>("output rstd", n);
  output_gradient_ = plan.keep<S>("output gradient", n * c);
  gradient_ = plan.keep<S>("residual gradient", n * c);
  cosine_ = plan.keep<S>("rope cosine", t * e / 2);
  sine_ = plan.keep<S>("rope sine", t * e / 2);
  delta_ = plan.keep<S>("residual branch", n * c);

  plan.begin_phase();
  qkv_ = plan.scratch<S>("qkv", n * settings_.qkv_width());
  forward_workspace_ = plan.scratch<S>("attention forward workspace",
                                       attention::forward_workspace(total_heads, t, e));
  plan.begin_phase();
  dy_ = plan.scratch<S>("gradient of a norm's output", n * c);
  dqkv_ = plan.scratch<S>("gradient of qkv", n * settings_.qkv_width());
  dq_ = plan.scratch<S>("gradient of q", n * c);
  dk_ = plan.scratch<S>("gradient of k", n * c);
  dv_ = plan.scratch<S>("gradient of v", n * c);
  partial_ = plan.scratch<S>("norm weight partial sums", rmsnorm::partial_rows(n) * c);
  backward_workspace_ = plan.scratch<S>("attention backward workspace",
                                        attention::backward_workspace(total_heads, t, e));
}

template <class S>
void Transformer<S>::bind(const Parameters<S>& parameters, const Arena& arena) {
  parameters_ = &parameters;
  arena_ = &arena;
  const Index half = settings_.head_width() / 2;
  rope::fill_tables<S>(ExecSpace(), settings_.rope_base,
                       arena.view2<S>(cosine_, settings_.context, half),
                       arena.view2<S>(sine_, settings_.context, half));
}

template <class S>
View2<S> Transformer<S>::matrix(const Slot& slot, Index rows, Index cols) const {
  return arena_->view2<S>(slot, rows, cols);
}

template <class S>
View2<S> Transformer<S>::stream(Index layer, Index rows) const {
  return matrix(stream_slots_[layer], rows, settings_.width);
}

template <class S>
View2<S> Transformer<S>::output(Index sequences) const {
  return matrix(output_, sequences * settings_.context, settings_.width);
}

template <class S>
View2<S> Transformer<S>::output_gradient(Index sequences) const {
  return matrix(output_gradient_, sequences * settings_.context, settings_.width);
}

template <class S>
View2<S> Transformer<S>::gradient(Index sequences) const {
  return matrix(gradient_, sequences * settings_.context, settings_.width);
}

template <class S>
View4<S> Transformer<S>::heads_view(const Slot& slot, Index sequences) const {
  return View4<S>(arena_->at<S>(slot), sequences, settings_.heads, settings_.context,
                  settings_.head_width());
}

template <class S>
void Transformer<S>::forward(const ExecSpace& space, const Spans& spans, Index sequences) {
  const Region region("Lexikos::transformer::forward");
  const Index n = sequences * settings_.context;
  for (Index l = 0; l < settings_.layers; ++l) {
    forward_qkv(space, l, n);
    forward_attention(space, spans, l, sequences);
    forward_out(space, l, n);
    forward_mlp(space, l, n);
  }
  forward_norm(space, n);
}

/// The last norm: output = norm(x_mid of the last block + its MLP's branch).
template <class S>
void Transformer<S>::forward_norm(const ExecSpace& space, Index n) {
  const Index l = settings_.layers, c = settings_.width;
  rmsnorm::forward_add<S>(space, matrix(slots_[l - 1].x_mid, n, c), matrix(delta_, n, c),
                          parameters_->value1(norm_id_), settings_.norm_epsilon, stream(l, n),
                          matrix(output_, n, c), arena_->view1<S>(output_rstd_, n));
}

/// x_l = x_mid of the block before + its MLP's branch; qkv = W_qkv norm(x_l).
template <class S>
void Transformer<S>::forward_qkv(const ExecSpace& space, Index layer, Index n) {
  const Index c = settings_.width;
  const BlockSlots& s = slots_[layer];
  const BlockIds& id = ids_[layer];
  const View2<S> x = stream(layer, n), y = matrix(s.y1, n, c);
  const View1<S> rstd = arena_->view1<S>(s.rstd1, n), weight = parameters_->value1(id.attention_norm);
  if (layer == 0) {
    rmsnorm::forward<S>(space, x, weight, settings_.norm_epsilon, y, rstd);
  } else {
    rmsnorm::forward_add<S>(space, matrix(slots_[layer - 1].x_mid, n, c), matrix(delta_, n, c),
                            weight, settings_.norm_epsilon, x, y, rstd);
  }
  gemm<S>(space, Op::none, Op::transpose, S(1), y, parameters_->value2(id.qkv), S(0),
          matrix(qkv_, n, settings_.qkv_width()));
}

template <class S>
void Transformer<S>::forward_attention(const ExecSpace& space, const Spans& spans, Index layer,
                                       Index sequences) {
  const Index n = sequences * settings_.context, e = settings_.head_width();
  const BlockSlots& s = slots_[layer];
  const View4<S> q = heads_view(s.q, sequences), k = heads_view(s.k, sequences),
                 v = heads_view(s.v, sequences);
  rope::forward<S>(space, spans, matrix(qkv_, n, settings_.qkv_width()),
                   arena_->view2<S>(cosine_, settings_.context, e / 2),
                   arena_->view2<S>(sine_, settings_.context, e / 2), settings_.heads, q, k, v);
  attention::forward<S>(
      space, spans, q, k, v, matrix(s.o, n, settings_.width),
      View3<S>(arena_->at<S>(s.lse), sequences, settings_.heads, settings_.context),
      View1<S>(arena_->at<S>(forward_workspace_), forward_workspace_.bytes / Index(sizeof(S))));
}

/// Attention's branch: W_o o.
template <class S>
void Transformer<S>::forward_out(const ExecSpace& space, Index layer, Index n) {
  const Index c = settings_.width;
  gemm<S>(space, Op::none, Op::transpose, S(1), matrix(slots_[layer].o, n, c),
          parameters_->value2(ids_[layer].out), S(0), matrix(delta_, n, c));
}

/// x_mid = x_l + attention's branch; branch = W_down mlp(W_up norm(x_mid)).
template <class S>
void Transformer<S>::forward_mlp(const ExecSpace& space, Index layer, Index n) {
  const Index c = settings_.width, f = settings_.mlp_width;
  const BlockSlots& s = slots_[layer];
  const BlockIds& id = ids_[layer];
  const View2<S> delta = matrix(delta_, n, c), y = matrix(s.y2, n, c);
  const View2<S> up = matrix(s.up, n, settings_.mlp_inputs() * f),
                 hidden = matrix(s.hidden, n, f);
  rmsnorm::forward_add<S>(space, stream(layer, n), delta, parameters_->value1(id.mlp_norm),
                          settings_.norm_epsilon, matrix(s.x_mid, n, c), y,
                          arena_->view1<S>(s.rstd2, n));
  gemm<S>(space, Op::none, Op::transpose, S(1), y, parameters_->value2(id.up), S(0), up);
  if (settings_.mlp == Mlp::swiglu) {
    swiglu::forward<S>(space, up, hidden);
  } else {
    gelu::forward<S>(space, up, hidden);
  }
  gemm<S>(space, Op::none, Op::transpose, S(1), hidden, parameters_->value2(id.down), S(0), delta);
}

template <class S>
void Transformer<S>::backward_norm(const ExecSpace& space, Index sequences) {
  const Index n = sequences * settings_.context, c = settings_.width;
  const View2<S> dx = gradient(sequences);
  Kokkos::deep_copy(space, dx, S(0));
  rmsnorm::backward<S>(space, output_gradient(sequences), stream(settings_.layers, n),
                       parameters_->value1(norm_id_), arena_->view1<S>(output_rstd_, n), dx,
                       parameters_->gradient1(norm_id_),
                       arena_->view2<S>(partial_, rmsnorm::partial_rows(n), c));
}

template <class S>
void Transformer<S>::backward_block(const ExecSpace& space, const Spans& spans, Index layer,
                                    Index sequences) {
  const Region region("Lexikos::transformer::backward");
  backward_mlp(space, layer, sequences);
  backward_attention(space, spans, layer, sequences);
}

template <class S>
void Transformer<S>::backward_mlp(const ExecSpace& space, Index layer, Index sequences) {
  const Index n = sequences * settings_.context, c = settings_.width, f = settings_.mlp_width;
  const BlockSlots& s = slots_[layer];
  const BlockIds& id = ids_[layer];
  const View2<S> dx = gradient(sequences), dy = matrix(dy_, n, c);
  const View2<S> up = matrix(s.up, n, settings_.mlp_inputs() * f),
                 hidden = matrix(s.hidden, n, f);
  gemm<S>(space, Op::transpose, Op::none, S(1), dx, hidden, S(1), parameters_->gradient2(id.down));
  gemm<S>(space, Op::none, Op::none, S(1), dx, parameters_->value2(id.down), S(0), hidden);
  if (settings_.mlp == Mlp::swiglu) {
    swiglu::backward<S>(space, hidden, up);
  } else {
    gelu::backward<S>(space, hidden, up);
  }
  gemm<S>(space, Op::transpose, Op::none, S(1), up, matrix(s.y2, n, c), S(1),
          parameters_->gradient2(id.up));
  gemm<S>(space, Op::none, Op::none, S(1), up, parameters_->value2(id.up), S(0), dy);
  rmsnorm::backward<S>(space, dy, matrix(s.x_mid, n, c), parameters_->value1(id.mlp_norm),
                       arena_->view1<S>(s.rstd2, n), dx, parameters_->gradient1(id.mlp_norm),
                       arena_->view2<S>(partial_, rmsnorm::partial_rows(n), c));
}

template <class S>
void Transformer<S>::backward_attention(const ExecSpace& space, const Spans& spans, Index layer,
                                        Index sequences) {
  const Index n = sequences * settings_.context, c = settings_.width, e = settings_.head_width();
  const BlockSlots& s = slots_[layer];
  const BlockIds& id = ids_[layer];
  const View2<S> dx = gradient(sequences), dy = matrix(dy_, n, c),
                 o = matrix(s.o, n, c), dqkv = matrix(dqkv_, n, settings_.qkv_width());
  const View4<S> dq = heads_view(dq_, sequences), dk = heads_view(dk_, sequences),
                 dv = heads_view(dv_, sequences);
  gemm<S>(space, Op::transpose, Op::none, S(1), dx, o, S(1), parameters_->gradient2(id.out));
  gemm<S>(space, Op::none, Op::none, S(1), dx, parameters_->value2(id.out), S(0), dy);
  attention::backward<S>(
      space, spans, dy, heads_view(s.q, sequences), heads_view(s.k, sequences), heads_view(s.v, sequences),
      o, View3<S>(arena_->at<S>(s.lse), sequences, settings_.heads, settings_.context), dq, dk, dv,
      View1<S>(arena_->at<S>(backward_workspace_), backward_workspace_.bytes / Index(sizeof(S))));
  rope::backward<S>(space, spans, dq, dk, dv, arena_->view2<S>(cosine_, settings_.context, e / 2),
                    arena_->view2<S>(sine_, settings_.context, e / 2), settings_.heads, dqkv);
  gemm<S>(space, Op::transpose, Op::none, S(1), dqkv, matrix(s.y1, n, c), S(1),
          parameters_->gradient2(id.qkv));
  gemm<S>(space, Op::none, Op::none, S(1), dqkv, parameters_->value2(id.qkv), S(0), dy);
  rmsnorm::backward<S>(space, dy, stream(layer, n), parameters_->value1(id.attention_norm),
                       arena_->view1<S>(s.rstd1, n), dx, parameters_->gradient1(id.attention_norm),
                       arena_->view2<S>(partial_, rmsnorm::partial_rows(n), c));
}

template <class S>
ArenaRange Transformer<S>::block_range(const ParameterList& list, Index layer) const {
  return arena_range(list, ids_[layer].attention_norm, ids_[layer].down);
}

template <class S>
ArenaRange Transformer<S>::norm_range(const ParameterList& list) const {
  return arena_range(list, norm_id_, norm_id_);
}

template <class S>
Counts Transformer<S>::counts() const {
  const Index c = settings_.width, f = settings_.mlp_width, l = settings_.layers;
  const Index matrices = l * (c * (settings_.qkv_width() + c) + (settings_.mlp_inputs() + 1) * c * f);
  Counts counts;
  counts.trainable = matrices + (2 * l + 1) * c;
  // Forward 2, backward 4 for each matrix element; attention's q k^T and p v see (T + 1) / 2 keys
  // on average.
  counts.flops_per_token = 6.0 * matrices + 6.0 * l * c * (settings_.context + 1.0);
  return counts;
}

template class Transformer<float>;
template class Transformer<double>;

}  // namespace lexikos::transformer

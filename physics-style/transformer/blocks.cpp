#include "transformer/blocks.hpp"

#include <cmath>

#include "kernels/attention.hpp"
#include "kernels/decode_attention.hpp"
#include "kernels/gelu.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/head_norm.hpp"
#include "kernels/narrow.hpp"
#include "kernels/rmsnorm.hpp"
#include "kernels/rope.hpp"
#include "kernels/swiglu.hpp"
#include "utils/error.hpp"

namespace lexikos::transformer {

template <class S, class A>
template <class T>
View4<T> Blocks<S, A>::heads(const Rows<T>& rows, Index sequences) const {
  return View4<T>(rows.data(), sequences, settings_.heads, settings_.context,
                  settings_.head_width());
}

template <class S, class A>
View3<S> Blocks<S, A>::row_sums(const Rows<S>& rows, Index sequences) const {
  return View3<S>(rows.data(), sequences, settings_.heads, settings_.context);
}

/// The residual stream's gradient as products read it.
template <class S, class A>
View2<const A> Blocks<S, A>::rounded_gradient(const ExecSpace& space, Index rows) const {
  const View2<S> dx = gradient_(rows);
  if constexpr (rounds) {
    const View2<A> to = backward_room_.dx(rows);
    narrow_into<A>(space, dx, to);
    return to;
  } else {
    return dx;
  }
}

template <class S, class A>
void Blocks<S, A>::forward(const ExecSpace& space, const Spans& spans, Index sequences) {
  const Region region("Lexikos::transformer::forward");
  pass_all(space, {sequences, rows_of(sequences), spans});
}

template <class S, class A>
void Blocks<S, A>::decode(const ExecSpace& space, Index sequences, Index position) {
  const Region region("Lexikos::transformer::decode");
  if (recompute_ == Recompute::block) {
    fail(Status::deck, "texts cannot be continued with model.recompute = block; it keeps no keys");
  }
  pass_all(space, {sequences, sequences, Spans(), position});
}

template <class S, class A>
void Blocks<S, A>::spread_cache(const ExecSpace& space, Index sequences) {
  const Index size = settings_.width * settings_.context;
  for (const BlockRows<S, A>& block : blocks_) {
    for (const Rows<A>* cache : {&block.k, &block.v}) {
      A* const first = cache->data();
      for (Index b = 1; b < sequences; ++b) {
        Kokkos::deep_copy(space, View1<A>(first + b * size, size), View1<A>(first, size));
      }
    }
  }
}

/// All blocks and the last norm: output = norm(x_mid of the last block + its MLP's branch).
template <class S, class A>
void Blocks<S, A>::pass_all(const ExecSpace& space, const Pass& pass) const {
  for (Index l = 0; l < settings_.layers; ++l) forward_block(space, pass, l, Part::all);
  const Index n = pass.rows;
  rmsnorm::forward_add<S>(space, blocks_.back().x_mid(n), branch_(n), norm_.value1(),
                          settings_.norm_epsilon, last_x_(n), output_(n), output_rstd_.column(n));
}

template <class S, class A>
void Blocks<S, A>::forward_block(const ExecSpace& space, const Pass& pass, Index layer,
                                 Part part) const {
  const BlockWeights<S, A>& w = weights_[layer];
  const BlockRows<S, A>& b = blocks_[layer];
  const Index n = pass.rows;
  const double epsilon = settings_.norm_epsilon;
  const auto multiply = [&](const auto& rows, const Factor<S, A>& matrix, const auto& out) {
    gemm<A>(space, Op::none, Op::transpose, S(1), rows, matrix.factor(), S(0), out);
  };
  if (part != Part::hidden) {
    // x = x_mid of the block before + its MLP's branch; y1 = norm(x)
    if (layer == 0 || part == Part::kept) {
      rmsnorm::forward<S>(space, b.x(n), w.attention_norm.value1(), epsilon, b.y1(n),
                          b.rstd1.column(n));
    } else {
      rmsnorm::forward_add<S>(space, blocks_[layer - 1].x_mid(n), branch_(n),
                              w.attention_norm.value1(), epsilon, b.x(n), b.y1(n),
                              b.rstd1.column(n));
    }
    multiply(b.y1(n), w.qkv, room_.qkv(n));
    if (settings_.qk_norm) {
      head_norm::forward<A>(space, epsilon, settings_.heads, w.q_norm.value1(), w.k_norm.value1(),
                            room_.qkv(n), b.raw(n), b.raw_rstd(n));
    }
    attend(space, pass, layer);
    multiply(b.o(n), w.out, branch_(n));
    // x_mid = x + attention's branch; y2 = norm(x_mid)
    rmsnorm::forward_add<S>(space, b.x(n), branch_(n), w.mlp_norm.value1(), epsilon, b.x_mid(n),
                            b.y2(n), b.rstd2.column(n));
  }
  multiply(b.y2(n), w.up, b.up(n));
  if (settings_.mlp == Mlp::swiglu) {
    swiglu::forward<A>(space, b.up(n), b.hidden(n));
  } else {
    gelu::forward<A>(space, b.up(n), b.hidden(n));
  }
  if (part == Part::all) multiply(b.hidden(n), w.down, branch_(n));
}

/// Which keys the queries of this layer see.
template <class S, class A>
Sight Blocks<S, A>::sight_of(const Pass& pass, Index layer) const {
  return {pass.spans, settings_.window_of(layer)};
}

/// o = attention(rope(qkv)): of whole sequences, or of one position on the keys and values before.
template <class S, class A>
void Blocks<S, A>::attend(const ExecSpace& space, const Pass& pass, Index layer) const {
  const BlockRows<S, A>& block = blocks_[layer];
  const Sight sight = sight_of(pass, layer);
  const Index n = pass.rows, t = settings_.context;
  const View4<A> k = heads(block.k, pass.sequences), v = heads(block.v, pass.sequences);
  const View2<S> cosine = cosine_(t), sine = sine_(t);
  const View3<S> lse = row_sums(block.lse, pass.sequences);
  if (pass.decodes()) {
    const View3<A> q(block.q.data(), pass.sequences, settings_.heads, settings_.head_width());
    decode_attention::append<A>(space, room_.qkv(n), cosine, sine, pass.place, q, k, v);
    decode_attention::forward<A>(space, q, k, v, pass.place, sight.window, lse, block.o(n));
  } else {
    const View4<A> q = heads(block.q, pass.sequences);
    rope::forward<A>(space, pass.spans, room_.qkv(n), cosine, sine, settings_.heads, q, k, v);
    attention::forward<A>(space, sight, q, k, v, block.o(n), lse, room_.workspace.all());
  }
}

template <class S, class A>
void Blocks<S, A>::backward_norm(const ExecSpace& space, Index sequences) {
  const Index n = rows_of(sequences);
  Kokkos::deep_copy(space, gradient_(n), S(0));
  rmsnorm::backward<S>(space, output_gradient_(n), last_x_(n), norm_.value1(),
                       output_rstd_.column(n), gradient_(n), norm_.gradient1(),
                       backward_room_.partial(rmsnorm::partial_rows(n)));
}

template <class S, class A>
void Blocks<S, A>::backward_block(const ExecSpace& space, const Spans& spans, Index layer,
                                  Index sequences) {
  const Region region("Lexikos::transformer::backward");
  const Pass pass{sequences, rows_of(sequences), spans};
  recompute_block(space, pass, layer);
  backward_mlp(space, layer, pass.rows);
  backward_attention(space, pass, layer);
}

/// What forward did not keep. The last block needs nothing: no other has used its place since.
template <class S, class A>
void Blocks<S, A>::recompute_block(const ExecSpace& space, const Pass& pass, Index layer) const {
  if (recompute_ == Recompute::none || layer == settings_.layers - 1) return;
  const Region region("Lexikos::transformer::recompute");
  forward_block(space, pass, layer, recompute_ == Recompute::block ? Part::kept : Part::hidden);
}

/// Backward through down, activation, up and the norm. Overwrites up and hidden.
template <class S, class A>
void Blocks<S, A>::backward_mlp(const ExecSpace& space, Index layer, Index rows) const {
  const BlockWeights<S, A>& w = weights_[layer];
  const BlockRows<S, A>& b = blocks_[layer];
  const Index n = rows;
  const View2<S> dy = backward_room_.dy(n);
  const View2<A> up = b.up(n), hidden = b.hidden(n);
  const View2<const A> dx = rounded_gradient(space, n);
  gemm<A>(space, Op::transpose, Op::none, S(1), dx, hidden, S(1), w.down.gradient2());
  gemm<A>(space, Op::none, Op::none, S(1), dx, w.down.factor(), S(0), hidden);
  if (settings_.mlp == Mlp::swiglu) {
    swiglu::backward<A>(space, hidden, up);
  } else {
    gelu::backward<A>(space, hidden, up);
  }
  gemm<A>(space, Op::transpose, Op::none, S(1), up, b.y2(n), S(1), w.up.gradient2());
  gemm<A>(space, Op::none, Op::none, S(1), up, w.up.factor(), S(0), dy);
  rmsnorm::backward<S>(space, dy, b.x_mid(n), w.mlp_norm.value1(), b.rstd2.column(n), gradient_(n),
                       w.mlp_norm.gradient1(), backward_room_.partial(rmsnorm::partial_rows(n)));
}

/// Backward through out, attention, rotary positions, qkv and the norm.
template <class S, class A>
void Blocks<S, A>::backward_attention(const ExecSpace& space, const Pass& pass, Index layer) const {
  const BlockWeights<S, A>& w = weights_[layer];
  const BlockRows<S, A>& b = blocks_[layer];
  const BackwardRoom<S, A>& r = backward_room_;
  const Index n = pass.rows, sequences = pass.sequences, t = settings_.context;
  const View2<S> dy = r.dy(n);
  const View2<A> o = b.o(n), dout = r.dout(n), dqkv = r.dqkv(n);
  const View4<S> dq = heads(r.dq, sequences), dk = heads(r.dk, sequences),
                 dv = heads(r.dv, sequences);
  const View2<const A> dx = rounded_gradient(space, n);
  gemm<A>(space, Op::transpose, Op::none, S(1), dx, o, S(1), w.out.gradient2());
  gemm<A>(space, Op::none, Op::none, S(1), dx, w.out.factor(), S(0), dout);
  attention::backward<A>(space, sight_of(pass, layer), dout, heads(b.q, sequences),
                         heads(b.k, sequences), heads(b.v, sequences), o,
                         row_sums(b.lse, sequences), dq, dk, dv, r.workspace.all());
  rope::backward<A>(space, pass.spans, dq, dk, dv, cosine_(t), sine_(t), settings_.heads, dqkv);
  if (settings_.qk_norm) {
    head_norm::backward<A>(space, settings_.heads, b.raw(n), b.raw_rstd(n), w.q_norm.value1(),
                           w.k_norm.value1(), dqkv, w.q_norm.gradient1(), w.k_norm.gradient1(),
                           r.head_partial(head_norm::partial_rows(n)));
  }
  gemm<A>(space, Op::transpose, Op::none, S(1), dqkv, b.y1(n), S(1), w.qkv.gradient2());
  gemm<A>(space, Op::none, Op::none, S(1), dqkv, w.qkv.factor(), S(0), dy);
  rmsnorm::backward<S>(space, dy, b.x(n), w.attention_norm.value1(), b.rstd1.column(n),
                       gradient_(n), w.attention_norm.gradient1(),
                       r.partial(rmsnorm::partial_rows(n)));
}

template class Blocks<float, float>;
template class Blocks<double, double>;
template class Blocks<float, Bf16>;

}  // namespace lexikos::transformer

// What the blocks reserve, and what they cost.
#include <cmath>

#include "kernels/attention.hpp"
#include "kernels/head_norm.hpp"
#include "kernels/rmsnorm.hpp"
#include "kernels/rope.hpp"
#include "transformer/blocks.hpp"

namespace lexikos::transformer {

template <class S, class A>
Blocks<S, A>::Blocks(const Settings& settings, const ModelShape& shape, Recompute recompute)
    : settings_(settings), shape_(shape), recompute_(recompute) {}

template <class S, class A>
BlockWeights<S, A> Blocks<S, A>::declare_weights(Parameters<S>& parameters, Memory& memory,
                                                 Index layer) const {
  const Index c = settings_.width, f = settings_.mlp_width;
  const Init one{.mean = 1.0};
  const Init plain{.deviation = settings_.init_deviation};
  const Init residual{.deviation = settings_.init_deviation / std::sqrt(2.0 * settings_.layers)};
  const std::string number = std::to_string(layer);
  const auto gain = [&](const char* part, Index size) {
    return parameters.add("transformer." + number + "." + part, {size}, one, Decay::none);
  };
  const auto matrix = [&](const char* part, Index rows, Index columns, const Init& init) {
    const Weight<S> weight =
        parameters.add("transformer." + number + "." + part, {rows, columns}, init, Decay::to_zero);
    return Factor<S, A>(weight, memory, "block " + number + " rounded " + part + " matrix");
  };
  BlockWeights<S, A> w;
  w.attention_norm = gain("attention_norm", c);
  w.qkv = matrix("qkv", settings_.qkv_width(), c, plain);
  if (settings_.qk_norm) {
    w.q_norm = gain("q_norm", settings_.head_width());
    w.k_norm = gain("k_norm", settings_.head_width());
  }
  w.out = matrix("out", c, c, residual);
  w.mlp_norm = gain("mlp_norm", c);
  w.up = matrix("up", settings_.mlp_inputs() * f, c, plain);
  w.down = matrix("down", c, f, residual);
  return w;
}

/// Activations of one block: its own, or those of the block before where backward computes them
/// again.
template <class S, class A>
BlockRows<S, A> Blocks<S, A>::declare_rows(Memory& memory, Index layer) const {
  const Index n = shape_.positions(), c = settings_.width, f = settings_.mlp_width;
  const bool own = layer == 0 || recompute_ != Recompute::block;
  const bool own_hidden = layer == 0 || recompute_ == Recompute::none;
  const std::string number = "block " + std::to_string(layer) + " ";
  const std::string block = recompute_ == Recompute::block ? "a block's " : number;
  BlockRows<S, A> b = layer == 0 ? BlockRows<S, A>() : blocks_.back();
  b.x = memory.rows<S>(number + "input", n, c);
  if (own) {
    b.y1 = memory.rows<A>(block + "attention norm", n, c);
    b.rstd1 = memory.rows<S>(block + "attention rstd", n);
    b.q = memory.rows<A>(block + "q", n, c);
    b.k = memory.rows<A>(block + "k", n, c);
    b.v = memory.rows<A>(block + "v", n, c);
    if (settings_.qk_norm) {
      const Index normed = settings_.heads + settings_.kv_heads;
      b.raw = memory.rows<A>(block + "raw q and k", n, normed * settings_.head_width());
      b.raw_rstd = memory.rows<S>(block + "q and k rstd", n, normed);
    }
    b.o = memory.rows<A>(block + "attention", n, c);
    b.lse = memory.rows<S>(block + "log-sum-exp", n, settings_.heads);
    b.x_mid = memory.rows<S>(block + "middle", n, c);
    b.y2 = memory.rows<A>(block + "mlp norm", n, c);
    b.rstd2 = memory.rows<S>(block + "mlp rstd", n);
  }
  if (own_hidden) {
    b.up = memory.rows<A>(block + "up", n, settings_.mlp_inputs() * f);
    b.hidden = memory.rows<A>(block + "hidden", n, f);
  }
  return b;
}

template <class S, class A>
void Blocks<S, A>::declare_room(Memory& memory) {
  const Index n = shape_.positions(), c = settings_.width;
  const Index total_heads = shape_.micro_batch * settings_.heads;
  const Index t = settings_.context, e = settings_.head_width();
  memory.begin_phase();
  room_.qkv = memory.scratch<A>("qkv", n, settings_.qkv_width());
  room_.workspace = memory.scratch<S>("attention forward workspace",
                                      attention::forward_workspace<A>(total_heads, t, e));
  memory.begin_phase();
  BackwardRoom<S, A>& r = backward_room_;
  r.dy = memory.scratch<S>("gradient of a norm's output", n, c);
  r.dout = memory.scratch<A>("gradient of attention", n, c);
  if (rounds) r.dx = memory.scratch<A>("rounded residual gradient", n, c);
  r.dqkv = memory.scratch<A>("gradient of qkv", n, settings_.qkv_width());
  r.dq = memory.scratch<S>("gradient of q", n, c);
  r.dk = memory.scratch<S>("gradient of k", n, c);
  r.dv = memory.scratch<S>("gradient of v", n, c);
  r.partial = memory.scratch<S>("norm weight partial sums", rmsnorm::partial_rows(n), c);
  if (settings_.qk_norm) {
    r.head_partial = memory.scratch<S>("q and k gain partial sums", head_norm::partial_rows(n),
                                       2 * settings_.head_width());
  }
  r.workspace = memory.scratch<S>("attention backward workspace",
                                  attention::backward_workspace<A>(total_heads, t, e));
}

template <class S, class A>
void Blocks<S, A>::declare(Parameters<S>& parameters, Memory& memory) {
  const Index n = shape_.positions(), c = settings_.width, t = settings_.context;
  for (Index l = 0; l < settings_.layers; ++l) {
    weights_.push_back(declare_weights(parameters, memory, l));
    blocks_.push_back(declare_rows(memory, l));
  }
  norm_ = parameters.add("transformer.norm", {c}, {.mean = 1.0}, Decay::none);
  last_x_ = memory.rows<S>("last residual", n, c);
  output_ = memory.rows<S>("output", n, c);
  output_rstd_ = memory.rows<S>("output rstd", n);
  output_gradient_ = memory.rows<S>("output gradient", n, c);
  gradient_ = memory.rows<S>("residual gradient", n, c);
  cosine_ = memory.rows<S>("rope cosine", t, settings_.head_width() / 2);
  sine_ = memory.rows<S>("rope sine", t, settings_.head_width() / 2);
  branch_ = memory.rows<S>("residual branch", n, c);
  declare_room(memory);
}

template <class S, class A>
void Blocks<S, A>::prepare(const ExecSpace& space) {
  const Index t = settings_.context;
  rope::fill_tables<S>(space, settings_.rope_base, cosine_(t), sine_(t));
}

template <class S, class A>
void Blocks<S, A>::refresh(const ExecSpace& space) {
  for (const BlockWeights<S, A>& w : weights_) {
    for (const Factor<S, A>* matrix : {&w.qkv, &w.out, &w.up, &w.down}) matrix->refresh(space);
  }
}

template <class S, class A>
ArenaRange Blocks<S, A>::block_range(Index layer) const {
  return {weights_[layer].attention_norm.range().begin, weights_[layer].down.range().end};
}

template <class S, class A>
Costs Blocks<S, A>::costs() const {
  double matrices = 0;  // elements
  for (const BlockWeights<S, A>& w : weights_) {
    for (const Factor<S, A>* matrix : {&w.qkv, &w.out, &w.up, &w.down}) {
      matrices += static_cast<double>(matrix->info().size);
    }
  }
  double keys = 0;  // that a position sees, over all layers
  for (Index l = 0; l < settings_.layers; ++l) {
    keys += attention::mean_keys(settings_.context, settings_.window_of(l));
  }
  Costs costs;
  // Forward 2, backward 4 for each matrix element, and for each of C numbers of attention's q k^T
  // and p v with each key.
  costs.flops_per_token = 6.0 * matrices + 12.0 * static_cast<double>(settings_.width) * keys;
  return costs;
}

#define LEXIKOS_DECLARE(S, A)                                                   \
  template Blocks<S, A>::Blocks(const Settings&, const ModelShape&, Recompute); \
  template void Blocks<S, A>::declare(Parameters<S>&, Memory&);                 \
  template void Blocks<S, A>::prepare(const ExecSpace&);                        \
  template void Blocks<S, A>::refresh(const ExecSpace&);                        \
  template ArenaRange Blocks<S, A>::block_range(Index) const;                   \
  template Costs Blocks<S, A>::costs() const;
LEXIKOS_DECLARE(float, float)
LEXIKOS_DECLARE(double, double)
LEXIKOS_DECLARE(float, Bf16)
#undef LEXIKOS_DECLARE

}  // namespace lexikos::transformer

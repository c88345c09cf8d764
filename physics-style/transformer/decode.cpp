// Continuing texts position by position: the blocks of blocks.cpp on one row of each text, with
// keys and values of the places before from the cache. The cache is where forward keeps k and v.
#include "kernels/decode_attention.hpp"
#include "transformer/blocks.hpp"
#include "utils/error.hpp"

namespace lexikos::transformer {

template <class S, class A>
View2<S> Blocks<S, A>::decode_output(Index sequences) const {
  return matrix<S>(output_, sequences, settings_.width);
}

template <class S, class A>
void Blocks<S, A>::decode(const ExecSpace& space, Index sequences, Index position) {
  const Region region("Lexikos::transformer::decode");
  if (recompute_ == Recompute::block) {
    fail(Status::deck, "texts cannot be continued with model.recompute = block; it keeps no keys");
  }
  const Index b = sequences, e = settings_.head_width();
  for (Index l = 0; l < settings_.layers; ++l) {
    const BlockSlots& s = slots_[l];
    const View3<A> q(arena_->template at<A>(s.q), b, settings_.heads, e);
    const View4<A> k = heads_view<A>(s.k, b), v = heads_view<A>(s.v, b);
    forward_qkv(space, l, b, l == 0 ? Add::nothing : Add::branch);
    decode_attention::append<A>(space, matrix<A>(qkv_, b, settings_.qkv_width()),
                                rope_table(cosine_), rope_table(sine_), position, q, k, v);
    const View3<S> weights(arena_->template at<S>(s.lse), b, settings_.heads, settings_.context);
    decode_attention::forward<A>(space, q, k, v, position, weights,
                                 matrix<A>(s.o, b, settings_.width));
    forward_out(space, l, b);
    forward_mlp_norm(space, l, b);
    forward_hidden(space, l, b);
    forward_down(space, l, b);
  }
  forward_norm(space, b);
}

template <class S, class A>
void Blocks<S, A>::spread_cache(const ExecSpace& space, Index sequences) {
  const Index size = settings_.width * settings_.context;
  for (const BlockSlots& slots : slots_) {
    for (const Slot* slot : {&slots.k, &slots.v}) {
      A* const first = arena_->template at<A>(*slot);
      for (Index b = 1; b < sequences; ++b) {
        Kokkos::deep_copy(space, View1<A>(first + b * size, size), View1<A>(first, size));
      }
    }
  }
}

#define LEXIKOS_DECODE(S, A)                                          \
  template View2<S> Blocks<S, A>::decode_output(Index) const;         \
  template void Blocks<S, A>::decode(const ExecSpace&, Index, Index); \
  template void Blocks<S, A>::spread_cache(const ExecSpace&, Index);
LEXIKOS_DECODE(float, float)
LEXIKOS_DECODE(double, double)
LEXIKOS_DECODE(float, Bf16)
#undef LEXIKOS_DECODE

}  // namespace lexikos::transformer

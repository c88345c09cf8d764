// Continuing texts position by position: the blocks of transformer.cpp on one row of each text, with
// keys and values of the places before from the cache. The cache is where forward keeps k and v.
#include "kernels/decode_attention.hpp"
#include "transformer/transformer.hpp"

namespace lexikos::transformer {

template <class S>
View2<S> Transformer<S>::decode_output(Index sequences) const {
  return matrix(output_, sequences, settings_.width);
}

template <class S>
void Transformer<S>::decode(const ExecSpace& space, Index sequences, Index position) {
  const Region region("Lexikos::transformer::decode");
  const Index b = sequences, e = settings_.head_width();
  for (Index l = 0; l < settings_.layers; ++l) {
    const BlockSlots& s = slots_[l];
    const View3<S> q(arena_->at<S>(s.q), b, settings_.heads, e);
    const View4<S> k = heads_view(s.k, b), v = heads_view(s.v, b);
    forward_qkv(space, l, b);
    decode_attention::append<S>(space, matrix(qkv_, b, settings_.qkv_width()),
                                arena_->view2<S>(cosine_, settings_.context, e / 2),
                                arena_->view2<S>(sine_, settings_.context, e / 2), position, q, k,
                                v);
    const View3<S> weights(arena_->at<S>(s.lse), b, settings_.heads, settings_.context);
    decode_attention::forward<S>(space, q, k, v, position, weights,
                                 matrix(s.o, b, settings_.width));
    forward_out(space, l, b);
    forward_mlp(space, l, b);
  }
  forward_norm(space, b);
}

template <class S>
void Transformer<S>::spread_cache(const ExecSpace& space, Index sequences) {
  const Index size = settings_.width * settings_.context;
  for (const BlockSlots& slots : slots_) {
    for (const Slot* slot : {&slots.k, &slots.v}) {
      S* const first = arena_->at<S>(*slot);
      for (Index b = 1; b < sequences; ++b) {
        Kokkos::deep_copy(space, View1<S>(first + b * size, size), View1<S>(first, size));
      }
    }
  }
}

#define LEXIKOS_DECODE(S)                                                                 \
  template View2<S> Transformer<S>::decode_output(Index) const;                           \
  template void Transformer<S>::decode(const ExecSpace&, Index, Index);                   \
  template void Transformer<S>::spread_cache(const ExecSpace&, Index);
LEXIKOS_DECODE(float)
LEXIKOS_DECODE(double)
#undef LEXIKOS_DECODE

}  // namespace lexikos::transformer

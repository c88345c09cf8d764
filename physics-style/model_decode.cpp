// The part of Model that continues texts: a prompt at once, then one position at a time.
#include <algorithm>

#include "model.hpp"

namespace lexikos {

template <class S>
void Model<S>::prefill(const ExecSpace& space, View1<const TokenId> ids, Index sequences) {
  const Index count = ids.extent(0), c = shape_.width;
  const View2<S> x = transformer_->input(1);
  refresh(space);
  for (Index begin = 0; begin < count; begin += shape_.distinct_max) {
    const Index rows = std::min(shape_.distinct_max, count - begin);
    embedding_->forward(space, View1<const TokenId>(ids.data() + begin, rows),
                        View2<S>(x.data() + begin * c, rows, c));
  }
  // Attention looks back only: what stands behind the prompt changes nothing, but must be numbers.
  const Index rest = shape_.context - count;
  Kokkos::deep_copy(space, View1<S>(x.data() + count * c, rest * c), S(0));
  transformer_->forward(space, Spans(), 1);
  transformer_->spread_cache(space, sequences);
}

template <class S>
void Model<S>::prompt_logits(const ExecSpace& space, Index begin, View2<S> out) const {
  const View2<S> x = transformer_->output(1);
  head_->logits(space, View2<S>(x.data() + begin * shape_.width, out.extent(0), shape_.width), out);
}

template <class S>
void Model<S>::decode(const ExecSpace& space, View1<const TokenId> ids, Index position,
                      View2<S> out) {
  const Index sequences = ids.extent(0);
  embedding_->forward(space, ids, transformer_->decode_input(sequences));
  transformer_->decode(space, sequences, position);
  head_->logits(space, transformer_->decode_output(sequences), out);
}

#define LEXIKOS_MODEL_DECODE(S)                                                   \
  template void Model<S>::prefill(const ExecSpace&, View1<const TokenId>, Index); \
  template void Model<S>::prompt_logits(const ExecSpace&, Index, View2<S>) const; \
  template void Model<S>::decode(const ExecSpace&, View1<const TokenId>, Index, View2<S>);
LEXIKOS_MODEL_DECODE(float)
LEXIKOS_MODEL_DECODE(double)
#undef LEXIKOS_MODEL_DECODE

}  // namespace lexikos

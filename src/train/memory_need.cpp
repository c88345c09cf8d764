#include "train/memory_need.hpp"

namespace lexikos {

template <class S>
MemoryNeed memory_need(const MemberSettings<S>& settings, const Model<S>& model,
                       const ModelSizes& sizes, int ranks) {
  const Index arena = model.list().arena_size(), bytes = sizeof(S);
  const bool shard = settings.parallel.shard_optimizer;
  const Index positions = sizes.rank_sequences * model.shape().context;
  const Index arrays = settings.run.data.document_mask ? 7 : 4;  // of a position
  MemoryNeed need;
  need.ranks = ranks;
  need.values = 2 * arena * bytes;
  need.moments = 2 * slice_of(arena, 0, shard ? ranks : 1).size() * bytes;
  need.kept = model.memory().kept_bytes();
  need.shared = model.memory().shared_bytes();
  need.batch = 4 * (arrays * positions + 3 * model.distinct_max());
  return need;
}

template <class S>
Index largest_micro_batch(const MemberSettings<S>& settings, Index vocabulary, int ranks,
                          Index bytes) {
  ModelSizes sizes = settings.sizes(vocabulary, ranks);
  const auto fits = [&](Index micro_batch) {
    sizes.micro_batch = micro_batch;
    const Model<S> model(settings.model, sizes);
    return memory_need(settings, model, sizes, ranks).peak() <= bytes;
  };
  Index fit = 0, too_large = sizes.rank_sequences + 1;  // memory grows with the micro-batch
  while (too_large - fit > 1) {
    const Index middle = fit + (too_large - fit) / 2;
    (fits(middle) ? fit : too_large) = middle;
  }
  return fit;
}

#define LEXIKOS_MEMORY_NEED(S)                                                                  \
  template MemoryNeed memory_need(const MemberSettings<S>&, const Model<S>&, const ModelSizes&, \
                                  int);                                                         \
  template Index largest_micro_batch(const MemberSettings<S>&, Index, int, Index);
LEXIKOS_MEMORY_NEED(float)
LEXIKOS_MEMORY_NEED(double)
#undef LEXIKOS_MEMORY_NEED

}  // namespace lexikos

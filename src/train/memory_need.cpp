#include "train/memory_need.hpp"

#include "utils/checked_size.hpp"

namespace lexikos {

MemoryNeed memory_need(const MemberSettings& settings, const Model<float>& model,
                       const ModelSizes& sizes, int ranks) {
  const Index arena = model.parameters().arena_size(), bytes = sizeof(float);
  const bool shard = settings.parallel.shard_optimizer;
  const Index positions = sizes.rank_sequences * model.shape().context;
  const Index arrays = settings.data.document_mask ? 7 : 4;  // of a position
  MemoryNeed need;
  need.ranks = ranks;
  need.values = checked_product({2, arena, bytes}, "bytes of parameters and gradients");
  need.moments = checked_product({2, slice_of(arena, 0, shard ? ranks : 1).size(), bytes},
                                 "bytes of AdamW's moments");
  need.kept = model.memory().kept_bytes();
  need.shared = model.memory().shared_bytes();
  need.batch = 4 * (arrays * positions + 3 * model.shape().distinct_max);
  checked_sum({need.values, need.moments, need.kept, need.shared, need.batch},
              "bytes of device memory");
  return need;
}

Index largest_micro_batch(const MemberSettings& settings, Index vocabulary, int ranks,
                          Index bytes) {
  ModelSizes sizes = settings.sizes(vocabulary, ranks);
  const auto fits = [&](Index micro_batch) {
    sizes.micro_batch = micro_batch;
    const Model<float> model(settings.model, sizes);
    return memory_need(settings, model, sizes, ranks).peak() <= bytes;
  };
  Index fit = 0, too_large = sizes.rank_sequences + 1;  // memory grows with the micro-batch
  while (too_large - fit > 1) {
    const Index middle = fit + (too_large - fit) / 2;
    (fits(middle) ? fit : too_large) = middle;
  }
  return fit;
}

}  // namespace lexikos

// What tests of batches share: views on the host, and the rule that every window comes once an
// epoch.
#pragma once

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "data/batches/step_batch.hpp"
#include "harness/catch.hpp"

namespace fixtures {

using namespace lexikos;

/// The ids 0, 1, 2, ...: a window of a source that holds them says where it lies.
inline std::vector<TokenId> counting_ids(Index size) {
  std::vector<TokenId> ids(static_cast<std::size_t>(size));
  std::iota(ids.begin(), ids.end(), TokenId{0});
  return ids;
}

template <class T>
std::vector<T> to_host(const View1<const T>& view) {
  std::vector<T> values(view.extent(0));
  if (values.empty()) return values;
  const HostBuffer<T> host("test", view.extent(0));
  Kokkos::deep_copy(host, view);
  std::copy_n(host.data(), values.size(), values.begin());
  return values;
}

struct Positions {
  std::vector<TokenId> ids, targets;
};

/// All positions of a rank's step, micro-batch after micro-batch.
inline Positions positions_of(const StepBatch& batch) {
  Positions all;
  for (const MicroBatch& micro : batch.micro) {
    const auto ids = to_host(micro.ids);
    const auto targets = to_host(micro.targets);
    all.ids.insert(all.ids.end(), ids.begin(), ids.end());
    all.targets.insert(all.targets.end(), targets.begin(), targets.end());
  }
  return all;
}

struct EpochCase {
  Index tokens, sequences_a_rank, T;
  int ranks;
  Index windows;  // of an epoch
};

/// The cases on which other codes lost the end of a shard, or read past it, and more.
inline std::vector<EpochCase> epoch_cases() {
  return {
      {100, 2, 8, 4, 12}, {94, 1, 5, 2, 18}, {97, 2, 8, 4, 12}, {96, 2, 8, 4, 11}, {9, 1, 8, 3, 1}};
}

/// Ranks together read every window exactly once an epoch, none of them twice, across the edges of
/// epochs. `source` holds counting_ids(c.tokens).
inline void check_every_window_once(const TokenSource& source, const EpochCase& c) {
  INFO(c.tokens << " tokens, B " << c.sequences_a_rank << ", T " << c.T << ", " << c.ranks
                << " ranks");
  const Index global = c.sequences_a_rank * c.ranks;
  std::vector<BatchLoader> loaders;
  for (int rank = 0; rank < c.ranks; ++rank) {
    loaders.emplace_back(
        source,
        BatchSizes{
            .T = c.T, .sequences = global, .micro_sequences = 1, .rank = rank, .ranks = c.ranks},
        7);
  }
  CHECK(loaders[0].sample_count() == c.windows);

  // As many steps as make whole epochs.
  const Index steps = c.windows;
  const Index epochs = steps * global / c.windows;
  std::vector<std::vector<Index>> reads(static_cast<std::size_t>(epochs),
                                        std::vector<Index>(static_cast<std::size_t>(c.windows)));
  std::map<Index, int> owner;  // sample number -> rank
  for (Index step = 0; step < steps; ++step) {
    for (int rank = 0; rank < c.ranks; ++rank) {
      BatchLoader& loader = loaders[static_cast<std::size_t>(rank)];
      const Share share = loader.samples(step);
      const StepBatch& batch = loader.load(step);
      CHECK(batch.sequences == c.sequences_a_rank);
      CHECK(batch.targets_global == global * c.T);
      const Positions positions = positions_of(batch);
      for (Index g = share.begin; g < share.end; ++g) {
        CHECK(owner.emplace(g, rank).second);  // no other rank has it
        const Index window = loader.sample(g).begin / c.T;
        ++reads[static_cast<std::size_t>(g / c.windows)][static_cast<std::size_t>(window)];
        for (Index t = 0; t < c.T; ++t) {
          // Token i of the source is i itself.
          const auto n = static_cast<std::size_t>((g - share.begin) * c.T + t);
          CHECK(static_cast<Index>(positions.ids[n]) == window * c.T + t);
          CHECK(static_cast<Index>(positions.targets[n]) == window * c.T + t + 1);
        }
      }
    }
  }
  CHECK(static_cast<Index>(owner.size()) == steps * global);
  for (const auto& epoch : reads) {
    CHECK(epoch == std::vector<Index>(static_cast<std::size_t>(c.windows), 1));
  }
}

}  // namespace fixtures

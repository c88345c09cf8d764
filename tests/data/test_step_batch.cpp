// Batches: every window once an epoch whatever the ranks, and buckets that are complete.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "data/batches/step_batch.hpp"
#include "data/tokens/synthetic_tokens.hpp"
#include "data/tokens/token_file.hpp"
#include "harness/batch_checks.hpp"
#include "harness/catch.hpp"
#include "harness/file_fixtures.hpp"
#include "harness/listed_tokens.hpp"

using namespace lexikos;
using namespace fixtures;
using test::ListedTokens;

namespace {

ListedTokens counting(Index size) { return {size, counting_ids(size)}; }

/// Compares everything that load() built with what follows from the ids.
void check_batch(const StepBatch& batch, Index vocabulary_size) {
  const std::vector<TokenId> distinct = to_host(batch.distinct);
  std::set<TokenId> expected_distinct;
  Index sequences = 0;
  for (const MicroBatch& micro : batch.micro) {
    CHECK(micro.input.sequences >= 1);
    sequences += micro.input.sequences;
    const auto n_count = static_cast<std::size_t>(micro.input.sequences * batch.T);
    const auto ids = to_host(micro.ids);
    const auto slot = to_host(micro.input.slot);
    REQUIRE(ids.size() == n_count);
    REQUIRE(micro.targets.extent(0) == n_count);
    REQUIRE(slot.size() == n_count);
    std::map<TokenId, std::vector<std::int32_t>> buckets;  // ascending tokens and positions
    for (std::size_t n = 0; n < n_count; ++n) {
      CHECK(static_cast<Index>(ids[n]) < vocabulary_size);
      REQUIRE(static_cast<std::size_t>(slot[n]) < distinct.size());
      CHECK(distinct[static_cast<std::size_t>(slot[n])] == ids[n]);
      buckets[ids[n]].push_back(static_cast<std::int32_t>(n));
      expected_distinct.insert(ids[n]);
    }

    const auto touched = to_host(micro.touched);
    const auto begin = to_host(micro.bucket_begin);
    const auto position = to_host(micro.bucket_position);
    REQUIRE(micro.touched.extent(0) == buckets.size());
    REQUIRE(touched.size() == buckets.size());
    REQUIRE(begin.size() == buckets.size() + 1);
    REQUIRE(position.size() == n_count);
    std::vector<std::int32_t> expected_begin = {0};
    std::vector<std::int32_t> expected_position;
    std::size_t row = 0;
    for (const auto& [id, members] : buckets) {
      CHECK(distinct[static_cast<std::size_t>(touched[row++])] == id);
      expected_position.insert(expected_position.end(), members.begin(), members.end());
      expected_begin.push_back(static_cast<std::int32_t>(expected_position.size()));
    }
    CHECK(std::is_sorted(touched.begin(), touched.end()));
    CHECK(begin == expected_begin);
    CHECK(position == expected_position);
  }
  CHECK(sequences == batch.sequences);
  CHECK(distinct == std::vector<TokenId>(expected_distinct.begin(), expected_distinct.end()));
}

}  // namespace

TEST_CASE("shares are contiguous, complete and differ by at most one") {
  for (Index count = 0; count < 40; ++count) {
    for (int ranks = 1; ranks < 12; ++ranks) {
      Index end = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const Share share = share_of(count, rank, ranks);
        CHECK(share.begin == end);
        CHECK(share.size() >= count / ranks);
        CHECK(share.size() <= count / ranks + 1);
        end = share.end;
      }
      CHECK(end == count);
    }
  }
}

TEST_CASE("ranks together read every window exactly once an epoch, and none of them twice") {
  for (const EpochCase& c : epoch_cases()) check_every_window_once(counting(c.tokens), c);
}

TEST_CASE("neither ranks nor micro-batches change which tokens a step reads, and in which order") {
  const SyntheticTokens source(50, 500, 3);
  const Index T = 7;
  const Index global = 11;
  for (const Index step : {0, 5, 6, 7, 1000}) {  // 71 windows: an epoch ends inside step 6
    BatchLoader whole(source, {.T = T, .sequences = global, .micro_sequences = global}, 9);
    const Positions expected = positions_of(whole.load(step));
    for (const int ranks : {1, 2, 3, 4, 11, 13}) {
      for (const Index micro : {1, 2, 3, 100}) {
        INFO("step " << step << ", " << ranks << " ranks, micro-batch " << micro);
        Positions together;
        Index sequences = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          BatchLoader loader(
              source,
              {.T = T, .sequences = global, .micro_sequences = micro, .rank = rank, .ranks = ranks},
              9);
          const StepBatch& batch = loader.load(step);
          sequences += batch.sequences;
          CHECK(batch.targets_global == global * T);
          const Positions part = positions_of(batch);
          together.ids.insert(together.ids.end(), part.ids.begin(), part.ids.end());
          together.targets.insert(together.targets.end(), part.targets.begin(), part.targets.end());
        }
        CHECK(sequences == global);
        CHECK(together.ids == expected.ids);
        CHECK(together.targets == expected.targets);
      }
    }
  }
}

TEST_CASE("distinct tokens and buckets are complete and ascending") {
  for (const Index vocabulary : {1, 2, 63, 64, 65, 1000, 70000}) {
    const SyntheticTokens source(vocabulary, 4000, 1);
    for (const Index micro : {1, 3, 5, 8}) {
      BatchLoader loader(source, {.T = 16, .sequences = 8, .micro_sequences = micro}, 2);
      for (const Index step : {0, 1, 40}) {
        INFO("V " << vocabulary << ", micro-batch " << micro << ", step " << step);
        const StepBatch& batch = loader.load(step);
        CHECK(static_cast<Index>(batch.micro.size()) == (8 + micro - 1) / micro);
        check_batch(batch, vocabulary);
      }
    }
  }
}

TEST_CASE("a short last micro-batch and a rank without sequences") {
  const SyntheticTokens source(30, 400, 1);
  SECTION("5 sequences in micro-batches of 2") {
    BatchLoader loader(source, {.T = 6, .sequences = 5, .micro_sequences = 2}, 2);
    const StepBatch& batch = loader.load(3);
    REQUIRE(batch.micro.size() == 3);
    CHECK(batch.micro[0].input.sequences == 2);
    CHECK(batch.micro[2].input.sequences == 1);
    check_batch(batch, 30);
  }
  SECTION("2 sequences on 4 ranks") {
    BatchLoader loader(source,
                       {.T = 6, .sequences = 2, .micro_sequences = 2, .rank = 3, .ranks = 4}, 2);
    for (Index step = 0; step < 3; ++step) {
      const StepBatch& batch = loader.load(step);
      CHECK(batch.sequences == 0);
      CHECK(batch.micro.empty());
      CHECK(batch.distinct.extent(0) == 0);
      CHECK(batch.distinct.extent(0) == 0);
      CHECK(batch.targets_global == 12);
    }
  }
}

TEST_CASE("ids past 65,535 arrive whole") {
  std::vector<TokenId> ids = {65536, 0, 65535, 65537, 131072, 65536, 1, 199999, 65536};
  const TemporaryFolder folder;
  write_tokens(folder.file("tokens.h5"), 200000, ids);
  const TokenFile source(folder.file("tokens.h5"), "train");
  BatchLoader loader(source, {.T = 8, .sequences = 1, .micro_sequences = 1}, 0);
  const StepBatch& batch = loader.load(0);
  check_batch(batch, 200000);
  const Positions positions = positions_of(batch);
  CHECK(positions.ids == std::vector<TokenId>(ids.begin(), ids.end() - 1));
  CHECK(positions.targets == std::vector<TokenId>(ids.begin() + 1, ids.end()));
}

TEST_CASE("a loader has no memory: any step can come first, and twice") {
  const SyntheticTokens source(100, 1000, 4);
  BatchLoader straight(source, {.T = 8, .sequences = 4, .micro_sequences = 2}, 6);
  for (Index step = 0; step < 50; ++step) (void)straight.load(step);
  const StepBatch& batch = straight.load(37);
  const Positions again = positions_of(batch);
  BatchLoader restarted(source, {.T = 8, .sequences = 4, .micro_sequences = 2}, 6);
  CHECK(positions_of(restarted.load(37)).ids == again.ids);
  check_batch(batch, 100);
  BatchLoader other_seed(source, {.T = 8, .sequences = 4, .micro_sequences = 2}, 7);
  CHECK(positions_of(other_seed.load(37)).ids != again.ids);
}

TEST_CASE("nothing is allocated after construction, and the plan says how much") {
  const SyntheticTokens source(100, 1000, 4);
  BatchLoader loader(source, {.T = 8, .sequences = 4, .micro_sequences = 2}, 6);
  const Index bytes = loader.bytes();
  // Per micro-batch of 16: ids, targets, slot, positions; touched and begin; 32 distinct. In 64 B
  // steps.
  CHECK(bytes == (32 + 2 * (5 * 16 + 32)) * 4);
  CHECK(loader.host_bytes() > bytes);
  const TokenId* first = loader.load(0).micro[1].ids.data();
  const MicroBatch* micro = loader.load(0).micro.data();
  for (Index step = 1; step < 5; ++step) {
    CHECK(loader.load(step).micro[1].ids.data() == first);
    CHECK(loader.load(step).micro.data() == micro);
  }
  CHECK(loader.bytes() == bytes);
}

TEST_CASE("an evaluation reads windows spread over the source in order, each once") {
  const ListedTokens source = counting(200);  // T 8: 24 windows
  const std::vector<Index> spread_17_of_24 = {0,  1,  2,  4,  5,  7,  8,  9, 11,
                                              12, 14, 15, 16, 18, 19, 21, 22};
  for (const int ranks : {1, 2, 3, 5, 7}) {
    for (const Index global : {1, 4, 5, 6, 100}) {
      INFO(ranks << " ranks, " << global << " sequences a step");
      const WindowSelection selection{17, 24};
      std::vector<BatchLoader> loaders;
      for (int rank = 0; rank < ranks; ++rank) {
        loaders.emplace_back(
            source,
            BatchSizes{
                .T = 8, .sequences = global, .micro_sequences = 2, .rank = rank, .ranks = ranks},
            selection);
      }
      CHECK(loaders[0].steps() == (17 + global - 1) / global);
      std::vector<TokenId> ids;
      std::vector<TokenId> targets;
      Index targets_global = 0;
      for (Index step = 0; step < loaders[0].steps(); ++step) {
        Index sequences = 0;
        for (BatchLoader& loader : loaders) {
          const StepBatch& batch = loader.load(step);
          check_batch(batch, 200);
          sequences += batch.sequences;
          const Positions part = positions_of(batch);
          ids.insert(ids.end(), part.ids.begin(), part.ids.end());
          targets.insert(targets.end(), part.targets.begin(), part.targets.end());
          CHECK(batch.targets_global == loaders[0].load(step).targets_global);
        }
        CHECK(sequences * 8 == loaders[0].load(step).targets_global);
        targets_global += sequences * 8;
      }
      CHECK(targets_global == 17 * 8);
      std::vector<TokenId> expected_ids, expected_targets;
      for (const Index w : spread_17_of_24) {
        for (Index t = 0; t < 8; ++t) {
          expected_ids.push_back(static_cast<TokenId>(8 * w + t));
          expected_targets.push_back(static_cast<TokenId>(8 * w + t + 1));
        }
      }
      CHECK(ids == expected_ids);
      CHECK(targets == expected_targets);
      CHECK(contains(error_of([&] { loaders[0].load(loaders[0].steps()); }), "there is no step"));
    }
  }

  CHECK(select_windows(source, 8, 0).count == 24);
  CHECK(select_windows(source, 8, 80).count == 10);
  CHECK(select_windows(source, 8, 87).count == 10);
  CHECK(select_windows(source, 8, 1).count == 1);
  CHECK(select_windows(source, 8, 1000000).count == 24);
  CHECK(!error_of(
             [&] {
               BatchLoader(source, {.T = 8, .sequences = 4, .micro_sequences = 2},
                           WindowSelection{25, 25});
             },
             Status::deck)
             .empty());

  // The targets of the selected windows, counted: each id of `counting` occurs once.
  const std::vector<std::uint64_t> counts = count_targets(source, 8, {17, 24});
  CHECK(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) == 17 * 8);
  CHECK(counts[0] == 0);  // the first id is no target
  CHECK(counts[1] == 1);
  CHECK(counts[25] == 0);  // window 3 is left out
}

TEST_CASE("what cannot be batched is refused") {
  const ListedTokens source = counting(16);
  const auto load = [&](Index T, Index global, Index micro) {
    return [&source, T, global, micro] {
      BatchLoader(source, {.T = T, .sequences = global, .micro_sequences = micro}, 0);
    };
  };
  CHECK(contains(error_of(load(16, 1, 1)), "has 16 tokens and one window of context 16 needs 17"));
  CHECK(error_of(load(15, 1, 1)).empty());
  CHECK(!error_of(load(0, 1, 1), Status::deck).empty());
  CHECK(!error_of(load(4, 0, 1), Status::deck).empty());
  CHECK(!error_of(load(4, 1, 0), Status::deck).empty());
  CHECK(contains(error_of(load(4, Index{1} << 30, 1), Status::resource), "2^31 positions"));

  std::vector<TokenId> ids(33, 1);
  for (const std::size_t bad : {std::size_t{0}, std::size_t{5}, std::size_t{32}}) {
    std::vector<TokenId> damaged = ids;
    damaged[bad] = 2;
    const ListedTokens listed(2, damaged);
    BatchLoader loader(listed, {.T = 8, .sequences = 4, .micro_sequences = 4}, 0);
    const std::string text = error_of([&] { loader.load(0); });
    CHECK(contains(text, "token id 2 at offset " + std::to_string(bad) + " of 'listed tokens'"));
  }
}

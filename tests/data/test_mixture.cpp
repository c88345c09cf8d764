// Mixtures: shares that are right from the first samples on, and every source's own epochs.
#include <cmath>
#include <map>
#include <set>

#include "data/batches/weighted_turns.hpp"
#include "harness/batch_checks.hpp"
#include "harness/catch.hpp"
#include "harness/file_fixtures.hpp"
#include "harness/listed_tokens.hpp"

using namespace lexikos;
using namespace fixtures;
using test::ListedTokens;

TEST_CASE("turns are counted right, close to the weights all the way, and exact in a whole cycle") {
  const std::vector<double> weights = {0.5, 3.0, 1.25, 0.01};
  const double total = 4.76;
  for (const std::uint64_t seed : {0, 1, 77}) {
    const WeightedTurns turns(seed, weights);
    std::vector<Index> drawn(4, 0);
    for (Index g = 0; g < 20000; ++g) {
      const WeightedTurns::Turn turn = turns.turn(g);
      const auto s = static_cast<std::size_t>(turn.source);
      REQUIRE(turn.number == drawn[s]);  // the number is a count of what came before
      ++drawn[s];
      const double n = static_cast<double>(g + 1);
      for (std::size_t k = 0; k < 4; ++k) {
        REQUIRE(std::abs(static_cast<double>(drawn[k]) - n * weights[k] / total) <=
                2 * (std::log2(n) + 1));
      }
    }
    // From one cycle of 2^32 to the next the counts go on; a cycle holds each part's length.
    const Index cycle = Index{1} << 32;
    for (const Index g : {Index{0}, Index{5}, Index{12345}}) {
      const WeightedTurns::Turn first = turns.turn(g), second = turns.turn(cycle + g);
      CHECK(first.source == second.source);
      const double length = static_cast<double>(second.number - first.number);
      CHECK(std::abs(length - weights[static_cast<std::size_t>(first.source)] / total *
                                  static_cast<double>(cycle)) < 2);
    }
    std::vector<Index> last(4, -1), next(4, -1);
    for (Index g = cycle - 3000; g < cycle + 3000; ++g) {
      const WeightedTurns::Turn turn = turns.turn(g);
      auto& before = last[static_cast<std::size_t>(turn.source)];
      if (before >= 0) REQUIRE(turn.number == before + 1);
      before = turn.number;
    }
  }
  const WeightedTurns one(1, weights), other(2, weights);
  Index differ = 0;
  for (Index g = 0; g < 1000; ++g) differ += one.turn(g).source != other.turn(g).source ? 1 : 0;
  CHECK(differ > 100);
}

TEST_CASE("turns pinned: changing the rule makes old runs unrepeatable") {
  const WeightedTurns turns(7, {2, 1, 1});
  std::vector<Index> sources;
  for (Index g = 0; g < 12; ++g) sources.push_back(turns.turn(g).source);
  CHECK(sources == std::vector<Index>{0, 1, 0, 2, 0, 1, 0, 2, 0, 1, 0, 2});
  const WeightedTurns other(7, {1, 2, 4, 3});
  sources.clear();
  for (Index g = 0; g < 12; ++g) sources.push_back(other.turn(g).source);
  CHECK(sources == std::vector<Index>{0, 2, 2, 3, 1, 2, 2, 3, 0, 2, 1, 3});
}

TEST_CASE("weights that cannot be dealt are refused") {
  const auto error = [](const std::vector<double>& weights) {
    return error_of([&] { WeightedTurns(1, weights); }, Status::deck);
  };
  CHECK(contains(error({}), "at least one source"));
  CHECK(contains(error({1, 0}), "too little to be drawn"));
  CHECK(contains(error({1, 1e-12}), "too little to be drawn"));
  CHECK(error({1, 1e-6}).empty());
}

TEST_CASE("each source of a mixture gives every window once in each epoch of its own, over ranks") {
  // Sources are told apart by their ids: 0 ..., 1000 ..., 2000 ...
  std::vector<ListedTokens> tokens;
  const std::vector<Index> sizes = {100, 61, 30};  // T 8: 12, 7 and 3 windows
  for (std::size_t s = 0; s < 3; ++s) {
    std::vector<TokenId> ids = counting_ids(sizes[s]);
    for (TokenId& id : ids) id += static_cast<TokenId>(1000 * s);
    tokens.emplace_back(4000, ids);
  }
  const std::vector<WeightedSource> mixture = {{&tokens[0], 3}, {&tokens[1], 2}, {&tokens[2], 1}};
  constexpr Index T = 8, steps = 60;
  std::vector<TokenId> reference;
  for (const int ranks : {1, 2, 3, 4}) {
    std::vector<BatchLoader> loaders;
    for (int rank = 0; rank < ranks; ++rank)
      loaders.emplace_back(
          mixture,
          BatchSizes{.T = T, .sequences = 5, .micro_sequences = 2, .rank = rank, .ranks = ranks},
          9);
    CHECK(loaders[0].sample_count() == 22);
    std::vector<std::vector<TokenId>> firsts(
        3);  // first id of each window, in the order of samples
    std::vector<TokenId> all;
    for (Index step = 0; step < steps; ++step) {
      for (BatchLoader& loader : loaders) {
        const Positions positions = positions_of(loader.load(step));
        for (std::size_t n = 0; n < positions.ids.size(); ++n) {
          CHECK(positions.targets[n] == positions.ids[n] + 1);
          if (n % T == 0) firsts[positions.ids[n] / 1000].push_back(positions.ids[n] % 1000);
          all.push_back(positions.ids[n]);
        }
      }
    }
    if (reference.empty()) reference = all;
    CHECK(all == reference);  // ranks change nothing
    const std::vector<double> share = {0.5, 1.0 / 3, 1.0 / 6};
    for (std::size_t s = 0; s < 3; ++s) {
      CHECK(std::abs(static_cast<double>(firsts[s].size()) - share[s] * 5 * steps) < 8);
      const auto windows = static_cast<std::size_t>((sizes[s] - 1) / T);
      for (std::size_t begin = 0; begin + windows <= firsts[s].size(); begin += windows) {
        const std::set<TokenId> epoch(
            firsts[s].begin() + static_cast<std::ptrdiff_t>(begin),
            firsts[s].begin() + static_cast<std::ptrdiff_t>(begin + windows));
        CHECK(epoch.size() == windows);
      }
    }
  }
  // One source alone is in the order that it has without a mixture.
  BatchLoader alone(tokens[0], {.T = T, .sequences = 5, .micro_sequences = 5}, 9),
      listed({{&tokens[0], 0.1}}, {.T = T, .sequences = 5, .micro_sequences = 5}, 9);
  CHECK(positions_of(alone.load(17)).ids == positions_of(listed.load(17)).ids);
}

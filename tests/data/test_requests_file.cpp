// Requests of evaluation tasks: what is scored where, rows. No model.
#include <map>
#include <set>

#include "data/requests/request_rows.hpp"
#include "harness/catch.hpp"
#include "harness/listed_requests.hpp"

using namespace lexikos;
using lexikos::test::ListedRequests;

namespace {

std::vector<TokenId> ids(Index count, TokenId first = 1) {
  std::vector<TokenId> list;
  for (Index i = 0; i < count; ++i) list.push_back(first + static_cast<TokenId>(i));
  return list;
}

std::vector<Index> scored_of(const std::vector<Stretch>& windows) {
  std::vector<Index> counts;
  for (const Stretch& window : windows) counts.push_back(window.scored);
  return counts;
}

/// Positions of the continuation that a stretch scores.
void add_scored(const Requests& requests, const Stretch& stretch,
                std::map<std::pair<Index, Index>, int>& seen) {
  for (Index i = stretch.inputs - stretch.scored; i < stretch.inputs; ++i) {
    const Index at = stretch.begin + i + 1 - requests.context_length(stretch.request);
    ++seen[{stretch.request, at}];
  }
}

/// 14 questions with four choices and 5 pages of different lengths.
ListedRequests many() {
  ListedRequests list;
  for (Index d = 0; d < 14; ++d) {
    list.question(ids(1 + d % 7), {{ids(1 + d % 3)}, {ids(2)}, {ids(1 + d % 5)}, {ids(4)}}, d % 4);
  }
  for (const Index length : {1, 10, 11, 34, 5}) list.page(0, ids(length), length, 2 * length);
  return list;
}

}  // namespace

TEST_CASE("34 ids at T = 10 are scored as 10, 10, 10, 4, each once") {
  ListedRequests list;
  list.page(0, ids(34), 34, 34);
  const std::vector<Stretch> windows = rolling_windows(list.requests, 0, 10);
  CHECK(scored_of(windows) == std::vector<Index>{10, 10, 10, 4});
  std::map<std::pair<Index, Index>, int> seen;
  for (const Stretch& window : windows) add_scored(list.requests, window, seen);
  CHECK(seen.size() == 34);
  for (const auto& [where, times] : seen) CHECK(times == 1);
  // The first is predicted from the prefix; the last window is a full one.
  CHECK(windows[0].begin == 0);
  CHECK(list.requests.id(0, 0) == 0);
  CHECK(windows[3].begin == 24);
  CHECK(windows[3].inputs == 10);
}

TEST_CASE("a page shorter than T is one window") {
  ListedRequests list;
  list.page(0, ids(3), 1, 1);
  const std::vector<Stretch> windows = rolling_windows(list.requests, 0, 10);
  CHECK(scored_of(windows) == std::vector<Index>{3});
  CHECK(windows[0].inputs == 3);
}

TEST_CASE("a request that is too long keeps its last T + 1 ids") {
  ListedRequests list;
  list.word(ids(9), ids(2, 20));
  Stretch stretch = whole_text(list.requests, 0, 10);  // 11 ids: fits exactly
  CHECK(stretch.begin == 0);
  CHECK(stretch.inputs == 10);
  CHECK(stretch.scored == 2);
  stretch = whole_text(list.requests, 0, 6);  // the last 7 of 11
  CHECK(stretch.begin == 4);
  CHECK(stretch.inputs == 6);
  CHECK(stretch.scored == 2);
  list.word(ids(2), ids(9, 20));
  stretch = whole_text(list.requests, 1, 4);  // more to score than T
  CHECK(stretch.begin == 6);
  CHECK(stretch.inputs == 4);
  CHECK(stretch.scored == 4);
}

TEST_CASE("choices share the context but for its last id") {
  ListedRequests list;
  list.question(ids(5), {{ids(2, 20)}, {ids(3, 30)}, {ids(4, 40)}});
  const std::vector<Bundle> whole = bundles_of(list.requests, 20, true);
  REQUIRE(whole.size() == 1);
  CHECK(whole[0].trunk.inputs == 4);
  CHECK(whole[0].positions() == 4 + 2 + 3 + 4);
  for (Index r = 0; r < 3; ++r) {
    const Stretch& branch = whole[0].branches[r];
    CHECK(branch.begin == 4);  // the context's last id
    CHECK(branch.inputs == list.requests.continuation_length(r));
    CHECK(branch.scored == branch.inputs);
  }
  CHECK(bundles_of(list.requests, 20, false).size() == 3);
  // Two of them fill a row of 9; the third is alone and needs no trunk.
  const std::vector<Bundle> cut = bundles_of(list.requests, 9, true);
  REQUIRE(cut.size() == 2);
  CHECK(cut[0].branches.size() == 2);
  CHECK(cut[1].trunk.inputs == 0);
  CHECK(cut[1].branches[0].inputs == 8);
  // Only the first fits into T + 1 whole.
  const std::vector<Bundle> tight = bundles_of(list.requests, 6, true);
  REQUIRE(tight.size() == 3);
  for (const Bundle& bundle : tight) CHECK(bundle.positions() == 6);
}

TEST_CASE("a context of one id, or one for each choice, is not shared") {
  ListedRequests list;
  list.question(ids(1), {{ids(2)}, {ids(3)}});
  list.question(std::vector<std::vector<TokenId>>{ids(4), ids(4, 9)}, {{ids(2)}, {ids(2)}});
  for (const Bundle& bundle : bundles_of(list.requests, 20, true)) {
    CHECK(bundle.trunk.inputs == 0);
    CHECK(bundle.branches.size() == 1);
  }
}

TEST_CASE("rows hold every bundle once and every id to score exactly once") {
  const ListedRequests list = many();
  for (const Index T : {5, 7, 10, 16, 64}) {
    for (const bool share : {true, false}) {
      const std::vector<Bundle> bundles = bundles_of(list.requests, T, share);
      std::set<Index> placed;
      for (const auto& row : pack_rows(bundles, T)) {
        Index positions = 0;
        for (const Index b : row) {
          positions += bundles[b].positions();
          CHECK(placed.insert(b).second);
        }
        CHECK(positions <= T);
      }
      CHECK(placed.size() == bundles.size());
      std::map<std::pair<Index, Index>, int> seen;
      for (const Bundle& bundle : bundles) {
        for (const Stretch& branch : bundle.branches) add_scored(list.requests, branch, seen);
      }
      CHECK(seen.size() == list.requests.continuation_ids.size());
      for (const auto& [where, times] : seen) CHECK(times == 1);
    }
  }
}

TEST_CASE("packing fills rows with the longest first") {
  std::vector<Bundle> bundles(5);
  const Index lengths[] = {3, 6, 4, 5, 2};
  for (Index i = 0; i < 5; ++i) bundles[i].branches = {{0, 0, lengths[i], 1}};
  CHECK(pack_rows(bundles, 10) == std::vector<std::vector<Index>>{{1, 2}, {3, 0, 4}});
}

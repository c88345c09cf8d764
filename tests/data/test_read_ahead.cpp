// Reading ahead: the same batches, errors at their own step, and a thread that always ends.
#include <atomic>
#include <chrono>
#include <thread>

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

/// Tokens that are slow to read and remember by which threads they were read.
class SlowTokens : public ListedTokens {
 public:
  using ListedTokens::ListedTokens;
  void read(Index begin, Index count, TokenId* out) const override {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ListedTokens::read(begin, count, out);
    if (std::this_thread::get_id() == main_) {
      ++by_main;
    } else {
      ++by_others;
    }
  }
  mutable std::atomic<int> by_main = 0, by_others = 0;

 private:
  std::thread::id main_ = std::this_thread::get_id();
};

bool same(const StepBatch& a, const StepBatch& b) {
  if (a.micro.size() != b.micro.size() || a.targets_global != b.targets_global) return false;
  if (to_host(a.distinct) != to_host(b.distinct)) return false;
  for (std::size_t m = 0; m < a.micro.size(); ++m) {
    const MicroBatch &x = a.micro[m], &y = b.micro[m];
    if (to_host(x.ids) != to_host(y.ids) || to_host(x.targets) != to_host(y.targets)) return false;
    if (to_host(x.input.slot) != to_host(y.input.slot) || to_host(x.touched) != to_host(y.touched))
      return false;
    if (to_host(x.bucket_begin) != to_host(y.bucket_begin)) return false;
    if (to_host(x.bucket_position) != to_host(y.bucket_position)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE(
    "batches are the same with and without reading ahead, in whatever order they are asked for") {
  const SyntheticTokens source(300, 3000, 3);
  BatchLoader ahead(source, {.T = 16, .sequences = 7, .micro_sequences = 2, .rank = 1, .ranks = 2},
                    5),
      plain(source, {.T = 16, .sequences = 7, .micro_sequences = 2, .rank = 1, .ranks = 2}, 5,
            {false});
  CHECK(ahead.reads_ahead());
  CHECK_FALSE(plain.reads_ahead());
  for (const Index step : {0, 1, 2, 3, 7, 8, 8, 2, 3, 4, 100}) {
    CHECK(same(ahead.load(step), plain.load(step)));
  }
  const WindowSelection windows = select_windows(source, 16, 16 * 23);
  BatchLoader some(source, {.T = 16, .sequences = 5, .micro_sequences = 2}, windows),
      others(source, {.T = 16, .sequences = 5, .micro_sequences = 2}, windows, {false});
  for (int round = 0; round < 3; ++round) {
    for (Index step = 0; step < some.steps(); ++step) {
      CHECK(same(some.load(step), others.load(step)));
    }
  }
}

TEST_CASE("the thread does the reading, and the next step is ready when it is asked for") {
  const SlowTokens source(100, counting_ids(100));
  BatchLoader loader(source, {.T = 8, .sequences = 2, .micro_sequences = 2}, 5);
  (void)loader.load(0);
  CHECK(source.by_main == 2);
  for (Index step = 1; step < 5; ++step) (void)loader.load(step);
  CHECK(source.by_main == 2);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const auto begin = std::chrono::steady_clock::now();
  (void)loader.load(5);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(20));
  CHECK(source.by_others >= 10);
}

TEST_CASE("what goes wrong ahead is thrown at its own step and never hidden or too early") {
  std::vector<TokenId> ids(17, 1);
  ids[12] = 5;  // in the second of two windows
  const ListedTokens source(2, ids);
  BatchLoader loader(source, {.T = 8, .sequences = 1, .micro_sequences = 1}, WindowSelection{2, 2});
  const std::string expected = "token id 5 at offset 12 of 'listed tokens'";
  CHECK_NOTHROW(loader.load(0));
  CHECK(contains(error_of([&] { loader.load(1); }), expected));
  CHECK_NOTHROW(loader.load(0));
  CHECK_NOTHROW(loader.load(0));  // the failure of step 1, read ahead, was not asked for
  CHECK(contains(error_of([&] { loader.load(1); }), expected));
  CHECK(contains(error_of([&] { loader.load(1); }), expected));
}

TEST_CASE("the thread ends with its loader, at any moment and through an exception") {
  const SlowTokens source(100, counting_ids(100));
  for (int i = 0; i < 3; ++i) {
    const int before = source.by_others;
    try {
      BatchLoader loader(source, {.T = 8, .sequences = 2, .micro_sequences = 2}, 5);
      (void)loader.load(i);
      if (i == 2) fail(Status::file, "out of the middle");
    } catch (const Error&) {
      CHECK(i == 2);
    }
    // What was under way was finished: nobody reads from the source any more.
    const int after = source.by_others;
    CHECK(after - before <= 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    CHECK(source.by_others == after);
  }
}

TEST_CASE("what HDF5 has to read is not read ahead") {
  const TemporaryFolder folder;
  Layout chunked;
  chunked.chunked = true;
  write_tokens_as(folder.file("c.h5"), 100, counting_ids(100), chunked);
  write_tokens_as(folder.file("m.h5"), 100, counting_ids(100), {});
  const TokenFile through_hdf5(folder.file("c.h5"), "train"), mapped(folder.file("m.h5"), "train");
  BatchLoader one(through_hdf5, {.T = 8, .sequences = 2, .micro_sequences = 2}, 5),
      other(mapped, {.T = 8, .sequences = 2, .micro_sequences = 2}, 5);
  CHECK_FALSE(one.reads_ahead());
  CHECK(other.reads_ahead());
  for (Index step = 0; step < 10; ++step) CHECK(same(one.load(step), other.load(step)));
  const std::vector<WeightedSource> both = {{&through_hdf5, 1}, {&mapped, 1}};
  CHECK_FALSE(BatchLoader(both, {.T = 8, .sequences = 2, .micro_sequences = 2}, 5).reads_ahead());
}

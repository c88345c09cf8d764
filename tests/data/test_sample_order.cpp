// The order of samples: a bijection for every count, shuffled every epoch, the same for ever.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "data/batches/sample_order.hpp"
#include "harness/catch.hpp"
#include "harness/file_fixtures.hpp"

using namespace lexikos;

namespace {

// True where epoch `epoch` reads every sample exactly once.
bool is_bijection(const SampleOrder& order, Index epoch) {
  std::vector<char> read(static_cast<std::size_t>(order.sample_count()), 0);
  for (Index position = 0; position < order.sample_count(); ++position) {
    const Index sample = order.sample(epoch, position);
    if (sample < 0 || sample >= order.sample_count()) return false;
    if (read[static_cast<std::size_t>(sample)]++ != 0) return false;
  }
  return true;
}

double chi_square(const std::vector<Index>& counts) {
  const double total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), Index{0}));
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (const Index count : counts) {
    sum += (static_cast<double>(count) - expected) * (static_cast<double>(count) - expected) /
           expected;
  }
  return sum;
}

// Far in the tail: mean k, variance 2 k for k degrees of freedom.
double chi_square_limit(std::size_t bins) {
  const double k = static_cast<double>(bins) - 1;
  return k + 5 * std::sqrt(2 * k) + 5;
}

}  // namespace

TEST_CASE("every epoch reads every sample exactly once, for every count") {
  for (Index count = 1; count <= 600; ++count) {
    for (Index epoch = 0; epoch < 3; ++epoch) {
      INFO(count << " samples, epoch " << epoch);
      REQUIRE(is_bijection(SampleOrder(17, count), epoch));
    }
  }
  for (const Index count : {1023, 1024, 1025, 65535, 65536, 65537, 1000003}) {
    INFO(count << " samples");
    REQUIRE(is_bijection(SampleOrder(0xffffffffffffffffu, count), 1234567890123));
  }
}

TEST_CASE("counts past 32 bits stay inside and do not collide") {
  const Index count = (Index{1} << 40) + 12345;
  const SampleOrder order(3, count);
  std::vector<Index> samples;
  for (Index g = 0; g < 20000; ++g) samples.push_back(order.sample(g));
  std::sort(samples.begin(), samples.end());
  CHECK(samples.front() >= 0);
  CHECK(samples.back() < count);
  CHECK(std::adjacent_find(samples.begin(), samples.end()) == samples.end());
  CHECK(samples.back() > count / 2);
}

TEST_CASE("a global number is an epoch and a position in it") {
  const SampleOrder order(5, 18);
  for (Index g = 0; g < 100; ++g) CHECK(order.sample(g) == order.sample(g / 18, g % 18));
}

TEST_CASE("epochs and seeds have orders of their own, none of them the file's") {
  const Index count = 5000;
  const auto fixed_points = [&](auto&& a, auto&& b) {
    Index equal = 0;
    for (Index p = 0; p < count; ++p) equal += a(p) == b(p) ? 1 : 0;
    return equal;
  };
  const SampleOrder order(1, count);
  const SampleOrder other(2, count);
  const auto identity = [](Index p) { return p; };
  const auto first = [&](Index p) { return order.sample(0, p); };
  const auto second = [&](Index p) { return order.sample(1, p); };
  const auto seeded = [&](Index p) { return other.sample(0, p); };
  // Two random orders agree in one place on average.
  CHECK(fixed_points(first, identity) < 8);
  CHECK(fixed_points(first, second) < 8);
  CHECK(fixed_points(first, seeded) < 8);
  CHECK(fixed_points(second, seeded) < 8);
}

TEST_CASE("places and neighbours are spread evenly") {
  SECTION("the first sample over epochs") {
    for (const Index count : {2, 3, 5, 7, 12}) {
      const SampleOrder order(11, count);
      std::vector<Index> first(static_cast<std::size_t>(count), 0);
      std::vector<Index> step(static_cast<std::size_t>(count), 0);  // from position 0 to 1
      for (Index epoch = 0; epoch < 4000; ++epoch) {
        const Index a = order.sample(epoch, 0);
        const Index b = order.sample(epoch, 1);
        ++first[static_cast<std::size_t>(a)];
        ++step[static_cast<std::size_t>((b - a + count) % count)];
      }
      INFO(count << " samples");
      CHECK(chi_square(first) < chi_square_limit(first.size()));
      CHECK(step[0] == 0);
      step.erase(step.begin());
      if (count > 2) CHECK(chi_square(step) < chi_square_limit(step.size()));
    }
  }
  SECTION("all orders of four over epochs") {
    const SampleOrder order(23, 4);
    std::vector<Index> seen(256, 0);
    for (Index epoch = 0; epoch < 24000; ++epoch) {
      std::size_t code = 0;
      for (Index p = 0; p < 4; ++p)
        code = code * 4 + static_cast<std::size_t>(order.sample(epoch, p));
      ++seen[code];
    }
    seen.erase(std::remove(seen.begin(), seen.end(), 0), seen.end());
    CHECK(seen.size() == 24);
    CHECK(chi_square(seen) < chi_square_limit(24));
  }
  SECTION("one long epoch in pieces") {
    const Index count = 100000;
    const SampleOrder order(29, count);
    std::vector<Index> cells(400, 0);  // 20 pieces of positions x 20 of samples
    for (Index p = 0; p < count; ++p) {
      ++cells[static_cast<std::size_t>(p * 20 / count * 20 + order.sample(0, p) * 20 / count)];
    }
    CHECK(chi_square(cells) < chi_square_limit(cells.size()));
  }
}

TEST_CASE("the order never changes: old runs must be repeatable") {
  const SampleOrder order(42, 1000);
  std::vector<Index> samples;
  for (const Index g : {0, 1, 2, 3, 999, 1000, 1001, 1000000}) samples.push_back(order.sample(g));
  CHECK(samples == std::vector<Index>{154, 626, 382, 300, 759, 776, 660, 454});
}

TEST_CASE("an order of nothing is refused") {
  CHECK(!fixtures::error_of([] { SampleOrder(1, 0); }, Status::deck).empty());
}

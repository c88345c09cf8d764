// Philox against Random123's known answers, and what is drawn from it.
#include <set>

#include "harness/catch.hpp"
#include "harness/support.hpp"
#include "kernels/philox.hpp"

using namespace lexikos;
using namespace lexikos::test;

namespace {

bool equal(const PhiloxWords& a, const PhiloxWords& b) {
  return std::equal(std::begin(a.word), std::end(a.word), std::begin(b.word));
}

Doubles normals(std::uint64_t seed, std::uint64_t stream, Index count) {
  const Device<double> values(count);
  const View1<double> view = values.view();
  const ExecSpace space;
  for_each(
      "test::normals", space, count,
      KOKKOS_LAMBDA(const Index i) { view.data()[i] = random_normal(seed, stream, i); });
  space.fence();
  return values.values();
}

double moment(const Doubles& x, int power) {
  double sum = 0;
  for (const double value : x) sum += std::pow(value, power);
  return sum / double(x.size());
}

}  // namespace

TEST_CASE("philox4x32-10 gives Random123's known answers", "[philox]") {
  // File kat_vectors of Random123.
  CHECK(
      equal(philox4x32({{0, 0, 0, 0}}, 0, 0), {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}));
  CHECK(equal(philox4x32({{~0u, ~0u, ~0u, ~0u}}, ~0u, ~0u),
              {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}));
  CHECK(
      equal(philox4x32({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0),
            {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}));
}

TEST_CASE("streams of names are FNV-1a's", "[philox]") {
  // Fowler, Noll and Vo's published test values.
  CHECK(stream_of("") == 0xcbf29ce484222325u);
  CHECK(stream_of("a") == 0xaf63dc4c8601ec8cu);
  CHECK(stream_of("foobar") == 0x85944171f73967e8u);
  CHECK(stream_of("\xff") != stream_of("\x7f"));
}

TEST_CASE("every bit of seed, stream and index counts", "[philox]") {
  const PhiloxWords plain = random_words(0, 0, 0);
  std::set<std::vector<std::uint32_t>> seen;
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t one = std::uint64_t{1} << bit;
    for (const PhiloxWords& w :
         {random_words(one, 0, 0), random_words(0, one, 0), random_words(0, 0, one)}) {
      CHECK_FALSE(equal(w, plain));
      seen.insert({std::begin(w.word), std::end(w.word)});
    }
  }
  CHECK(seen.size() == 192);
}

TEST_CASE("the unit interval is open at 0 and closed at 1", "[philox]") {
  CHECK(unit_interval(0, 0) == 0x1.0p-53);
  CHECK(unit_interval(~0u, ~0u) == 1.0);
  CHECK(unit_interval(0x80000000u, 0) == 0.5 + 0x1.0p-53);
}

TEST_CASE("normal values have the normal's moments", "[philox]") {
  const Index n = 200000;
  const double root = std::sqrt(double(n));
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const Doubles x = normals(seed, stream_of("test"), n);
    CHECK(std::isfinite(largest(x)));
    CHECK(largest(x) > 4);  // 13 expected beyond 4
    // Five standard deviations of each sample moment: their variances over n are 1, 2, 15, 96.
    CHECK(std::abs(moment(x, 1)) < 5 / root);
    CHECK(std::abs(moment(x, 2) - 1) < 5 * std::sqrt(2.0) / root);
    CHECK(std::abs(moment(x, 3)) < 5 * std::sqrt(15.0) / root);
    CHECK(std::abs(moment(x, 4) - 3) < 5 * std::sqrt(96.0) / root);
    // Shares within one and two standard deviations.
    double one = 0, two = 0;
    for (const double value : x) {
      one += std::abs(value) < 1;
      two += std::abs(value) < 2;
    }
    CHECK(one / double(n) == Approx(std::erf(1 / std::sqrt(2.0))).margin(5 * 0.47 / root));
    CHECK(two / double(n) == Approx(std::erf(std::sqrt(2.0))).margin(5 * 0.21 / root));
    // Neighbours, other streams and other seeds are uncorrelated.
    const Doubles y = normals(seed, stream_of("other"), n),
                  z = normals(seed + 1, stream_of("test"), n);
    Doubles next(x.begin() + 1, x.end());
    next.push_back(x[0]);
    CHECK(std::abs(dot(x, y)) / double(n) < 5 / root);
    CHECK(std::abs(dot(x, z)) / double(n) < 5 / root);
    CHECK(std::abs(dot(x, next)) / double(n) < 5 / root);
    // A longer draw begins with a shorter one.
    const Doubles shorter = normals(seed, stream_of("test"), 17);
    CHECK(std::equal(shorter.begin(), shorter.end(), x.begin()));
  }
}

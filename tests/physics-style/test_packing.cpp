// Packing: loss and gradient of all pairs against plain loops, and packings that are known exactly.
#include "harness/catch.hpp"
#include "harness/support.hpp"
#include "packing/packing.hpp"
#include "utils/error.hpp"

using namespace lexikos;
using namespace lexikos::test;
using packing::Cell;
using packing::Vectors;

namespace {

struct Reference : packing::Pass {
  double slope = 0;  // sum of p |G_ij|^(p - 1): of the loss, if all |G_ij| grow by one number
};

/// The definition, pair by pair.
Reference reference(const Doubles& x, Index k, Index d, Index p) {
  Reference pass;
  for (Index i = 0; i < k; ++i) {
    for (Index j = 0; j < k; ++j) {
      if (i == j) continue;
      double dot = 0, a = 0, b = 0;
      for (Index c = 0; c < d; ++c) {
        dot += x[i * d + c] * x[j * d + c];
        a += x[i * d + c] * x[i * d + c];
        b += x[j * d + c] * x[j * d + c];
      }
      const double g = std::abs(dot) / std::sqrt(a * b);
      pass.loss += std::pow(g, static_cast<double>(p));
      pass.slope += static_cast<double>(p) * std::pow(g, static_cast<double>(p - 1));
      pass.epsilon = std::max(pass.epsilon, g);
    }
  }
  return pass;
}

template <class S>
packing::Pass run(Vectors<S>& vectors, bool gradient) {
  const ExecSpace space;
  vectors.pass(space, gradient);
  return vectors.read(space);
}

template <class S>
void put(const Vectors<S>& vectors, const Doubles& x) {
  set(View1<S>(vectors.vectors().data(), x.size()), x);
}

constexpr double last_rate = 0.001;

/// The smallest over some starts of the largest cosine after 3,000 steps, the second half of them
/// at last_rate: the loss has local minima.
double packed(const Cell& cell, Index power, Index tile) {
  double best = 1;
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    Vectors<double> vectors(cell, power, tile, true);
    vectors.draw(seed, "test");
    for (Index step = 1; step <= 3000; ++step) {
      vectors.pass(ExecSpace(), true);
      vectors.adam(ExecSpace(), step < 1500 ? 0.02 : last_rate, step);
    }
    best = std::min(best, run(vectors, false).epsilon);
  }
  return best;
}

}  // namespace

TEMPLATE_TEST_CASE("loss and largest cosine are those of a plain loop", "", float, double) {
  using S = TestType;
  for (const Index power : {2, 3, 8, 11, 17, 20}) {
    for (const Index tile : {1, 7, 16, 64}) {
      const Index k = 37, d = 5;
      Random random(7);
      const Doubles x = rounded<S>(random.normals(k * d, 3.0));
      Vectors<S> vectors({d, k}, power, tile, true);
      put(vectors, x);
      const Reference expected = reference(x, k, d, power);
      const packing::Pass found = run(vectors, tile % 2 == 0);
      INFO("power " << power << ", tile " << tile);
      // A cosine is a sum of d terms, its power at most that many products, a row's part of the
      // loss a sum of a tile's pairs in S; the reference sums all pairs in double.
      const double cosine = rounding_of_sums<S>(d, 1);
      CHECK(std::abs(found.epsilon - expected.epsilon) < cosine);
      CHECK(std::abs(found.loss - expected.loss) <
            cosine * expected.slope +
                rounding_of_sums<S>(power + std::min(tile, k), expected.loss) +
                rounding_of_sums<double>(k * k, expected.loss));
    }
  }
}

TEST_CASE("vectors whose squares are no numbers have cosines all the same") {
  for (const double size : {1e-40, 1e-25, 1e25, 1e37}) {
    const Index k = 9, d = 4;
    Random random(3);
    const Doubles x = random.normals(k * d);
    Doubles sized = x;
    for (double& value : sized) value *= size;
    Vectors<float> vectors({d, k}, 4, 4, true);
    put(vectors, sized);
    INFO(size);
    // An element is stored to a rounding unit of its size, or to half the least subnormal number,
    // and a cosine moves by at most the sum of what its 2 d elements do.
    const double stored =
        std::max(roundoff<float>, 0.5 * std::numeric_limits<float>::denorm_min() / size);
    CHECK(std::abs(run(vectors, false).epsilon - reference(x, k, d, 4).epsilon) <
          2 * d * stored + rounding_of_sums<float>(3 * d, 1));
  }
  Vectors<float> zero({4, 3}, 4, 4, false);
  put(zero, Doubles(12, 0.0));
  CHECK_FALSE(std::isfinite(run(zero, false).loss));  // no direction: said, not 0
}

TEST_CASE("the gradient is that of central differences") {
  for (const Index power : {2, 7, 8, 17}) {
    const Index k = 11, d = 4;
    Random random(11);
    const Doubles x = random.normals(k * d);
    Vectors<double> vectors({d, k}, power, 4, true);
    put(vectors, x);
    run(vectors, true);
    const Doubles gradient = to_host(View1<double>(vectors.gradient().data(), k * d));
    const auto loss = [&](const Doubles& at) { return reference(at, k, d, power).loss; };
    INFO("power " << power);
    CHECK(gradient_error(loss, x, gradient, 1e-3, k * d) < gradient_tolerance);
  }
}

TEST_CASE("vectors that are all but orthogonal have neither loss nor gradient, and no subnormals") {
  const Index d = 6;
  Vectors<float> vectors({d, d}, 20, 4, true);
  Doubles x(d * d, 0.0);
  for (Index i = 0; i < d; ++i) x[i * d + i] = 2.0;
  x[1] = 1e-4;  // a cosine of 5e-5, whose 19th power is no float
  put(vectors, x);
  const packing::Pass found = run(vectors, true);
  CHECK(found.loss == 0.0);
  CHECK(std::abs(found.epsilon - 5e-5) < rounding_of_sums<float>(d, 5e-5));
  for (const float g : to_host(View1<float>(vectors.gradient().data(), d * d))) CHECK(g == 0.0f);
}

TEST_CASE("packings that are known exactly are found") {
  // Adam's steps do not get shorter at the end: each element of the two vectors of a cosine may be
  // one last_rate off.
  const auto margin = [](double d) { return 2 * last_rate * std::sqrt(d); };
  // As many vectors as dimensions: orthogonal. One more: a simplex, every cosine 1/d.
  CHECK(packed({8, 8}, 4, 3) < margin(8));
  CHECK(packed({3, 4}, 8, 64) == Approx(1.0 / 3.0).margin(margin(3)));
  CHECK(packed({4, 5}, 8, 3) == Approx(1.0 / 4.0).margin(margin(4)));
  // Six lines in three dimensions: the diagonals of the icosahedron, every |cosine| 1 / sqrt 5.
  CHECK(packed({3, 6}, 16, 4) == Approx(1.0 / std::sqrt(5.0)).margin(margin(3)));
}

TEST_CASE("the tile is a knob of speed only") {
  const Index d = 6, k = 50, steps = 10;
  const double rate = 0.01;
  const auto after_ten = [&](Index tile) {
    Vectors<double> vectors({d, k}, 9, tile, true);
    vectors.draw(3, "tile");
    for (Index step = 1; step <= steps; ++step) {
      vectors.pass(ExecSpace(), true);
      vectors.adam(ExecSpace(), rate, step);
    }
    return to_host(View1<double>(vectors.vectors().data(), k * d));
  };
  const Doubles whole = after_ten(k);
  // A gradient's element: k terms of cosines of d, and a projection of d.
  const double bound = rounding_of_updates<double>(steps, rate, k * d, k + 2 * d);
  for (const Index tile : {1, 13, 64}) CHECK(absolute_error(after_ten(tile), whole) < bound);
}

TEST_CASE("published powers and learning rates") {
  CHECK(packing::published_power({32, 2000}, 0) == 17);    // 60 / 3.466
  CHECK(packing::published_power({32, 2000}, 40) == 11);   // 40 / 3.466
  CHECK(packing::published_power({32, 6000}, 0) == 17);    // 60 / 3.466
  CHECK(packing::published_power({1024, 4000}, 0) == 5);   // 40 / 6.931
  CHECK(packing::published_power({1024, 6000}, 0) == 8);   // 60 / 6.931
  CHECK(packing::published_power({256, 6000}, 0) == 10);   // 60 / 5.545
  CHECK(packing::published_power({4096, 6000}, 0) == 6);   // 50 / 8.318
  CHECK(packing::published_power({4096, 4000}, 0) == 4);   // 40 / 8.318
  CHECK(packing::published_power({2, 6000}, 0) == 20);     // at most
  CHECK(packing::published_power({256, 4000}, 60) == 10);  // a deck's numerator
  CHECK(packing::published_learning_rate({1024, 2}) == 0.005);
  CHECK(packing::published_learning_rate({1025, 2}) == 0.0025);
}

TEST_CASE("sizes that are no packing are refused") {
  CHECK_THROWS_AS(Vectors<float>({1, 5}, 4, 8, true), Error);
  CHECK_THROWS_AS(Vectors<float>({5, 1}, 4, 8, true), Error);
  CHECK_THROWS_AS(Vectors<float>({5, 5}, 1, 8, true), Error);
  CHECK_THROWS_AS(Vectors<float>({5, 5}, 21, 8, true), Error);
}

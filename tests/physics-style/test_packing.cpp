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

/// The definition, pair by pair.
packing::Pass reference(const Doubles& x, Index k, Index d, Index p) {
  packing::Pass pass;
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

/// The smallest over some starts of the largest cosine after 3,000 steps: the loss has local
/// minima.
double packed(const Cell& cell, Index power, Index tile) {
  double best = 1;
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    Vectors<double> vectors(cell, power, tile, true);
    vectors.draw(seed, "test");
    for (Index step = 1; step <= 3000; ++step) {
      vectors.pass(ExecSpace(), true);
      vectors.adam(ExecSpace(), step < 1500 ? 0.02 : 0.001, step);
    }
    best = std::min(best, run(vectors, false).epsilon);
  }
  return best;
}

}  // namespace

TEMPLATE_TEST_CASE("loss and largest cosine are those of a plain loop", "", float, double) {
  using S = TestType;
  const double tolerance = sizeof(S) == 4 ? 2e-5 : 1e-13;
  for (const Index power : {2, 3, 8, 11, 17, 20}) {
    for (const Index tile : {1, 7, 16, 64}) {
      const Index k = 37, d = 5;
      Random random(7);
      const Doubles x = rounded<S>(random.normals(k * d, 3.0));
      Vectors<S> vectors({d, k}, power, tile, true);
      put(vectors, x);
      const packing::Pass expected = reference(x, k, d, power);
      const packing::Pass found = run(vectors, tile % 2 == 0);
      INFO("power " << power << ", tile " << tile);
      CHECK(std::abs(found.loss - expected.loss) <
            tolerance * static_cast<double>(power) * expected.loss);
      CHECK(std::abs(found.epsilon - expected.epsilon) < tolerance);
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
    // Subnormal numbers have few digits.
    CHECK(std::abs(run(vectors, false).epsilon - reference(x, k, d, 4).epsilon) <
          (size < 1e-38 ? 1e-3 : 1e-6));
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
    double scale = 0;
    for (const double g : gradient) scale = std::max(scale, std::abs(g));
    for (Index i = 0; i < k * d; ++i) {
      const double h = 1e-5;
      Doubles moved = x;
      moved[i] += h;
      const double up = reference(moved, k, d, power).loss;
      moved[i] = x[i] - h;
      const double down = reference(moved, k, d, power).loss;
      INFO("power " << power << ", element " << i);
      CHECK(std::abs(gradient[i] - (up - down) / (2 * h)) < 1e-6 * scale);
    }
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
  CHECK(std::abs(found.epsilon - 5e-5) < 1e-10);
  for (const float g : to_host(View1<float>(vectors.gradient().data(), d * d))) CHECK(g == 0.0f);
}

TEST_CASE("packings that are known exactly are found") {
  // As many vectors as dimensions: orthogonal. One more: a simplex, every cosine 1/d.
  CHECK(packed({8, 8}, 4, 3) < 0.02);
  CHECK(packed({3, 4}, 8, 64) == Approx(1.0 / 3.0).margin(0.003));
  CHECK(packed({4, 5}, 8, 3) == Approx(1.0 / 4.0).margin(0.003));
  // Six lines in three dimensions: the diagonals of the icosahedron, every |cosine| 1 / sqrt 5.
  CHECK(packed({3, 6}, 16, 4) == Approx(1.0 / std::sqrt(5.0)).margin(0.003));
}

TEST_CASE("the tile is a knob of speed only") {
  const auto after_ten = [](Index tile) {
    Vectors<double> vectors({6, 50}, 9, tile, true);
    vectors.draw(3, "tile");
    for (Index step = 1; step <= 10; ++step) {
      vectors.pass(ExecSpace(), true);
      vectors.adam(ExecSpace(), 0.01, step);
    }
    return to_host(View1<double>(vectors.vectors().data(), 300));
  };
  const Doubles whole = after_ten(50);
  for (const Index tile : {1, 13, 64}) {
    const Doubles other = after_ten(tile);
    for (std::size_t i = 0; i < whole.size(); ++i) CHECK(std::abs(whole[i] - other[i]) < 1e-9);
  }
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

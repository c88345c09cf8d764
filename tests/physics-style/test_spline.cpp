// The quadratic B-splines that LEV is made of.
#include <cstdio>

#include "embedding/lev/spline.hpp"
#include "harness/catch.hpp"
#include "harness/reference_lev.hpp"

using namespace lexikos;
using namespace lexikos::test;
using lev::Knots;
using lev::knots_at;

namespace {

/// What weights in S may be off by: z (kappa - 1) rounds to (kappa - 1) u, a weight changes with it
/// by at most 1 / 0.875, and 6 roundings make one; and what their reference may, which differences
/// of knots too. Slopes change by kappa times that.
template <class S>
double weight_error(Index kappa) {
  return (1.2 * double(kappa) + 6) * roundoff<S> + (3.6 * double(kappa) + 6) * roundoff<double>;
}

/// All kappa weights (or slopes) from the three that are not zero.
Doubles dense(const Knots<double>& k, Index kappa, bool slope = false) {
  Doubles b(kappa, 0.0);
  for (int i = 0; i < 3; ++i) b[k.index[i]] += slope ? k.slope[i] : k.weight[i];
  return b;
}

/// Both ends, all knots, all places between them where the pieces meet, and more.
Doubles points(Index kappa) {
  Doubles z;
  for (Index i = 0; i <= 2 * (kappa - 1); ++i) z.push_back(double(i) / double(2 * (kappa - 1)));
  Random random(kappa);
  for (int i = 0; i < 300; ++i) z.push_back(random.uniform());
  for (const double near : {1e-17, 1e-9, 1 - 1e-9, 1 - 0x1.0p-53}) z.push_back(near);
  return z;
}

double spline(const Doubles& coefficient, double z) {
  const Index kappa = static_cast<Index>(coefficient.size());
  const Knots<double> k = knots_at(z, kappa);
  double sum = 0;
  for (int i = 0; i < 3; ++i) sum += k.weight[i] * coefficient[k.index[i]];
  return sum;
}

double smooth(double z) { return std::sin(2.5 * z + 0.3) + 0.5 * std::exp(-z); }

Doubles samples(Index kappa) {
  Doubles f(kappa);
  for (Index m = 0; m < kappa; ++m) f[m] = smooth(double(m) / double(kappa - 1));
  return f;
}

/// Second-order correction c = f - (f[m+1] - 2 f[m] + f[m-1]) / 8, one-sided at the ends.
Doubles corrected(Index kappa) {
  const Doubles f = samples(kappa);
  Doubles c = f;
  for (Index m = 0; m < kappa; ++m) {
    const Index at = std::clamp<Index>(m, 1, kappa - 2);
    c[m] -= (f[at + 1] - 2 * f[at] + f[at - 1]) / 8;
  }
  return c;
}

/// Coefficients whose spline has the value of f at every knot: (1 6 1) / 8 inside and (6 1) / 7 at
/// the ends, solved by Thomas' algorithm.
Doubles interpolating(Index kappa) {
  Doubles c = samples(kappa), upper(kappa);
  for (Index m = 0; m < kappa; ++m) {
    const bool end = m == 0 || m == kappa - 1;
    const double lower = m == 0 ? 0 : end ? 1.0 / 7 : 1.0 / 8, centre = end ? 6.0 / 7 : 3.0 / 4;
    const double pivot = centre - (m == 0 ? 0 : lower * upper[m - 1]);
    upper[m] = (end ? 1.0 / 7 : 1.0 / 8) / pivot;
    c[m] = (c[m] - (m == 0 ? 0 : lower * c[m - 1])) / pivot;
  }
  for (Index m = kappa - 2; m >= 0; --m) c[m] -= upper[m] * c[m + 1];
  return c;
}

/// Largest error on [begin, end].
double error_of(const Doubles& coefficient, double begin, double end) {
  double worst = 0;
  for (int i = 0; i <= 4000; ++i) {
    const double z = begin + (end - begin) * i / 4000;
    worst = std::max(worst, std::abs(spline(coefficient, z) - smooth(z)));
  }
  return worst;
}

}  // namespace

TEST_CASE("spline weights match B(t) over its sum", "[spline]") {
  for (const Index kappa : {2, 3, 4, 5, 16, 129}) {
    for (const double z : points(kappa)) {
      CAPTURE(kappa, z);
      const Knots<double> k = knots_at(z, kappa);
      for (int i = 0; i < 3; ++i) {
        CHECK(k.index[i] >= 0);
        CHECK(k.index[i] < kappa);
        CHECK(k.weight[i] >= 0);
      }
      CHECK(absolute_error(dense(k, kappa), reference::spline_weights(z, kappa)) <
            weight_error<double>(kappa));
      // Three terms that were divided by their sum; slopes are up to kappa - 1 over 0.875.
      const double limit = rounding_of_sums<double>(3, 1);
      CHECK(k.weight[0] + k.weight[1] + k.weight[2] == Approx(1).epsilon(limit));
      CHECK(std::abs(k.slope[0] + k.slope[1] + k.slope[2]) < 1.2 * double(kappa) * limit);
    }
  }
}

TEST_CASE("spline weights at the ends and in the middle, by hand", "[spline]") {
  // Unnormalised 3/4 and 1/8 at an end, whose sum is 7/8.
  // Exact, but for the one division, which rounds to the same.
  CHECK(dense(knots_at(0.0, 16), 16) == reference::spline_weights(0, 16));
  CHECK(dense(knots_at(0.0, 16), 16)[0] == 6.0 / 7);
  CHECK(dense(knots_at(0.0, 16), 16)[1] == 1.0 / 7);
  CHECK(dense(knots_at(1.0, 16), 16)[15] == 6.0 / 7);
  CHECK(dense(knots_at(1.0, 16), 16)[14] == 1.0 / 7);
  CHECK(dense(knots_at(0.5, 3), 3) == Doubles{1.0 / 8, 3.0 / 4, 1.0 / 8});
  CHECK(dense(knots_at(0.25, 3), 3) == Doubles{0.5, 0.5, 0});
  // kappa = 2: both ends at once.
  CHECK(dense(knots_at(0.0, 2), 2) == Doubles{6.0 / 7, 1.0 / 7});
  CHECK(dense(knots_at(0.5, 2), 2) == Doubles{0.5, 0.5});
  CHECK(dense(knots_at(0.25, 2), 2) == Doubles{22.0 / 31, 9.0 / 31});
  CHECK(dense(knots_at(1.0, 2), 2) == Doubles{1.0 / 7, 6.0 / 7});
}

TEST_CASE("spline slopes are the weights' derivatives", "[spline][gradient]") {
  for (const Index kappa : {2, 3, 5, 16}) {
    // B / sum has |B| <= 3/4, slopes 1 and 1/2 and second derivatives 2 and 1: its third is below
    // 15 kappa^3, and a difference off by h^2 / 6 of that and by the weights' roundings over h.
    const double h = 1e-6, cube = double(kappa * kappa * kappa),
                 limit = 15 * cube * h * h / 6 + weight_error<double>(kappa) / h;
    for (const double z : points(kappa)) {
      // Not across the places where pieces meet (the second derivative jumps there) nor the ends.
      const double place =
          std::abs(z * double(kappa - 1) - std::floor(z * double(kappa - 1)) - 0.5);
      if (z < 2 * h || z > 1 - 2 * h || place < 1e-4) continue;
      CAPTURE(kappa, z);
      const Doubles up = reference::spline_weights(z + h, kappa),
                    down = reference::spline_weights(z - h, kappa);
      Doubles numeric(kappa);
      for (Index m = 0; m < kappa; ++m) numeric[m] = (up[m] - down[m]) / (2 * h);
      CHECK(absolute_error(dense(knots_at(z, kappa), kappa, true), numeric) < limit);
    }
  }
}

TEST_CASE("splines are continuous, and so are their slopes", "[spline]") {
  for (const Index kappa : {2, 3, 16}) {
    // Two weights in fp64, and two steps of u between them.
    const double limit = 2 * weight_error<double>(kappa);
    for (Index i = 0; i + 1 < kappa; ++i) {
      const double z = (double(i) + 0.5) / double(kappa - 1);
      const double left = std::nextafter(z, 0.0), right = std::nextafter(z, 1.0);
      CHECK(absolute_error(dense(knots_at(left, kappa), kappa),
                           dense(knots_at(right, kappa), kappa)) < limit);
      CHECK(absolute_error(dense(knots_at(left, kappa), kappa, true),
                           dense(knots_at(right, kappa), kappa, true)) < double(kappa) * limit);
    }
  }
}

TEST_CASE("single precision weights follow", "[spline]") {
  for (const Index kappa : {2, 16, 64}) {
    for (const double z : points(kappa)) {
      const float single = static_cast<float>(z);
      const Knots<float> k = knots_at(single, kappa);
      Doubles b(kappa, 0.0);
      for (int i = 0; i < 3; ++i) b[k.index[i]] += k.weight[i];
      CHECK(absolute_error(b, reference::spline_weights(single, kappa)) <
            weight_error<float>(kappa));
    }
  }
}

TEST_CASE("orders of approximation: error and ratio as knots double", "[spline]") {
  struct Row {
    const char* what;
    Doubles (*coefficients)(Index);
    double begin, end;
    double order;
  };
  // Inside: values as coefficients give order 2, corrected ones or interpolation order 3. Over all
  // of [0, 1] the normalisation at the ends leaves order 1.
  const Row rows[] = {{"values, inside", samples, 0.25, 0.75, 2},
                      {"corrected, inside", corrected, 0.25, 0.75, 3},
                      {"interpolating, inside", interpolating, 0.25, 0.75, 3},
                      {"values, ends too", samples, 0.0, 1.0, 1}};
  std::string table = "  knots  error      ratio\n";
  for (const Row& row : rows) {
    table += std::string(row.what) + "\n";
    double before = 0, ratio = 0;
    for (const Index intervals : {8, 16, 32, 64, 128, 256}) {
      const double error = error_of(row.coefficients(intervals + 1), row.begin, row.end);
      ratio = before / error;
      char line[64];
      std::snprintf(line, sizeof line, "  %5d  %.3e  %s%.2f\n", int(intervals + 1), error,
                    before > 0 ? "" : "(first) ", ratio);
      table += line;
      before = error;
    }
    INFO(row.what);
    CHECK(std::log2(ratio) == Approx(row.order).margin(0.1));
  }
  std::printf("Quadratic splines, approximation of sin(2.5 z + 0.3) + exp(-z) / 2\n%s",
              table.c_str());
  // Constants are met exactly, ends included.
  CHECK(std::abs(spline(Doubles(9, 2.5), 0.0) - 2.5) < rounding_of_sums<double>(3, 2.5));
  CHECK(std::abs(spline(Doubles(9, 2.5), 0.03) - 2.5) < rounding_of_sums<double>(3, 2.5));
  // Straight lines are met exactly inside.
  Doubles line(9);
  for (Index m = 0; m < 9; ++m) line[m] = 3 * double(m) / 8 - 1;
  CHECK(std::abs(spline(line, 0.337) - (3 * 0.337 - 1)) < rounding_of_sums<double>(3, 1));
}

// Softmax cross-entropy, forward and backward.
//
// The loss is log(sum) + largest - logit. An exponential is off by exp_error plus the rounding of
// logit - largest, at most u times the range; a sum of n positive terms by n u at worst, with n the
// tile's 4096 columns at most since tiles are folded in double. Four more roundings: the factor
// scale / total and its products, or the logarithm and its sum. loss_bound is that.
#include <cstring>

#include "harness/catch.hpp"
#include "harness/reference.hpp"
#include "kernels/cross_entropy.hpp"

using namespace lexikos;
using namespace lexikos::test;

namespace {

struct Result {
  Doubles nll, gradient;
};

template <class S>
Result run(const Doubles& logits, const std::vector<TokenId>& targets, Index v, double scale) {
  const Index rows = static_cast<Index>(targets.size());
  const Device<S> logits_d(logits);
  const Device<TokenId> targets_d(targets);
  const Device<double> nll(Doubles(rows, not_a_number));
  const ExecSpace space;
  cross_entropy::loss_and_gradient<S>(space, logits_d.view(rows, v), targets_d.view(), scale,
                                      nll.view(), logits_d.view(rows, v));
  space.fence();
  return {nll.values(), logits_d.values()};
}

template <class S>
Doubles loss_alone(const Doubles& logits, const std::vector<TokenId>& targets, Index v) {
  const Index rows = static_cast<Index>(targets.size());
  const Device<S> logits_d(logits);
  const Device<TokenId> targets_d(targets);
  const Device<double> nll(Doubles(rows, not_a_number));
  const ExecSpace space;
  cross_entropy::loss<S>(space, logits_d.view(rows, v), targets_d.view(), nll.view());
  space.fence();
  const Doubles before = rounded<S>(logits), after = logits_d.values();  // only read
  CHECK(std::memcmp(before.data(), after.data(), before.size() * sizeof(double)) == 0);
  return nll.values();
}

double sum_of_row(const Doubles& x, Index row, Index v) {
  double sum = 0;
  for (Index i = 0; i < v; ++i) sum += x[row * v + i];
  return sum;
}

/// What losses, and gradients over their scale, may be off by in S; `range` is that of the logits.
template <class S>
double loss_bound(double range, Index v) {
  const double n = double(std::min(v, cross_entropy::tile)),
               tiles = double(v / cross_entropy::tile);
  return exp_error<S> + (range + n + 4) * roundoff<S> + (tiles + range) * roundoff<double>;
}

const Index vocabularies[] = {1, 2, 15, 16, 17, 1000, 4095, 4096, 4097, 8193, 10007};

}  // namespace

TEST_CASE("cross-entropy agrees with its formula", "[cross_entropy]") {
  for (const Index v : vocabularies) {
    for (const double scale : {1.0, 1.0 / 384}) {
      CAPTURE(v, scale);
      Random random(v);
      const Index rows = 4;
      const Doubles logits = rounded<float>(random.normals(rows * v, 2.0));
      std::vector<TokenId> targets = random.tokens(rows, v);
      targets[0] = 0;  // both ends of the row
      targets[1] = static_cast<TokenId>(v - 1);
      const auto expected = reference::cross_entropy(logits, targets, v, scale);

      const Result found = run<double>(logits, targets, v, scale);
      const double wide = loss_bound<double>(2 * largest(logits), v);
      CHECK(absolute_error(found.nll, expected.nll) < wide);
      CHECK(absolute_error(found.gradient, expected.gradient) < wide * scale);
      CHECK(absolute_error(loss_alone<double>(logits, targets, v), expected.nll) < wide);
      for (Index row = 0; row < rows; ++row) {
        // The test's own sum of V terms, which are 2 in all, comes on top.
        CHECK(std::abs(sum_of_row(found.gradient, row, v)) <
              (wide + rounding_of_sums<double>(v, 2)) * scale);
      }

      const Result single = run<float>(logits, targets, v, scale);
      const double bound = loss_bound<float>(2 * largest(logits), v);
      CHECK(absolute_error(single.nll, expected.nll) < bound);
      CHECK(absolute_error(loss_alone<float>(logits, targets, v), expected.nll) < bound);
      CHECK(absolute_error(single.gradient, expected.gradient) < bound * scale);
      for (Index row = 0; row < rows; ++row) {
        CHECK(std::abs(sum_of_row(single.gradient, row, v)) < bound * scale);
      }
    }
  }
}

TEST_CASE("cross-entropy of one token is zero", "[cross_entropy]") {
  const Result found = run<double>({-3.5, 700}, {0, 0}, 1, 0.5);
  CHECK(absolute_error(found.nll, {0, 0}) == 0);
  CHECK(absolute_error(found.gradient, {0, 0}) == 0);
}

TEST_CASE("cross-entropy's gradient agrees with differences", "[cross_entropy][gradient]") {
  for (const Index v : {2, 15, 17, 4097}) {
    CAPTURE(v);
    Random random(v + 1);
    const Index rows = 3;
    const double scale = 0.25;
    const Doubles logits = random.normals(rows * v);
    const std::vector<TokenId> targets = random.tokens(rows, v);
    const auto value = [&](const Doubles& at) {
      double sum = 0;
      for (const double nll : loss_alone<double>(at, targets, v)) sum += nll;
      return scale * sum;
    };
    const Result found = run<double>(logits, targets, v, scale);
    CHECK(gradient_error(value, logits, found.gradient, 3e-3, 24) < gradient_tolerance);
  }
}

TEMPLATE_TEST_CASE("cross-entropy of large logits", "[cross_entropy]", float, double) {
  using S = TestType;
  const Index v = 19;
  Doubles logits(4 * v, 0.0);
  for (Index i = 0; i < v; ++i) {
    logits[i] = -1e4;                             // all far below 0
    logits[v + i] = 1e4;                          // all far above
    logits[2 * v + i] = i == 7 ? 1e4 : -1e4;      // one certain
    logits[3 * v + i] = i % 2 == 0 ? 1e4 : -1e4;  // ten equal
  }
  const std::vector<TokenId> targets = {3, 18, 8, 4};
  const Result found = run<S>(logits, targets, v, 1.0);
  const Doubles nll = {std::log(19.0), std::log(19.0), 2e4, std::log(10.0)};
  // Differences of 0 and 2e4 are exact, and so are exponentials of 0; those of -2e4 are below
  // exp(-87). What is left: sums of 19 terms, and the double sum of a loss of 2e4.
  const double bound = loss_bound<S>(0, v), wide = loss_bound<double>(0, v);
  CHECK(error_over_bound(found.nll, nll, {bound, bound, bound + 2e4 * roundoff<double>, bound}) <=
        1);
  CHECK(error_over_bound(loss_alone<S>(logits, targets, v), found.nll,
                         {bound, bound, bound + 2e4 * roundoff<double>, bound}) <= 1);
  const auto expected = reference::cross_entropy(logits, targets, v, 1.0);
  CHECK(absolute_error(found.gradient, expected.gradient) < bound + wide);
}

TEST_CASE("cross-entropy: a constant added to all logits changes nothing", "[cross_entropy]") {
  Random random(3);
  const Index v = 50;
  const Doubles logits = random.normals(2 * v);
  Doubles moved = logits;
  for (double& value : moved) value += 1000;
  const Result a = run<double>(logits, {7, 8}, v, 1.0), b = run<double>(moved, {7, 8}, v, 1.0);
  // Both are rounded, and so is each moved logit: by u of 1,000 and of what it was.
  const double bound =
      2 * loss_bound<double>(2 * largest(logits), v) + 2 * roundoff<double> * largest(moved);
  CHECK(absolute_error(a.nll, b.nll) < bound);
  CHECK(absolute_error(a.gradient, b.gradient) < bound);
}

TEMPLATE_TEST_CASE("cross-entropy of a logit that is no number", "[cross_entropy]", float, double) {
  using S = TestType;
  for (const Index v : {1, 17, 4100}) {
    for (const Index place : {Index{0}, v / 2, v - 1}) {
      for (const TokenId target : {TokenId(0), TokenId(v / 2), TokenId(v - 1)}) {
        CAPTURE(v, place, target);
        Random random(v);
        Doubles logits = random.normals(2 * v);
        logits[place] = not_a_number;
        const std::vector<TokenId> targets = {target, target};
        const Result found = run<S>(logits, targets, v, 1.0);
        CHECK(std::isnan(found.nll[0]));
        CHECK(std::isfinite(found.nll[1]));  // the other row is not touched
        const Doubles alone = loss_alone<S>(logits, targets, v);
        CHECK(std::isnan(alone[0]));
        CHECK(std::isfinite(alone[1]));
      }
    }
  }
}

TEMPLATE_TEST_CASE("cross-entropy of an infinite logit is not finite", "[cross_entropy]", float,
                   double) {
  using S = TestType;
  Doubles logits(5, 1.0);
  logits[2] = infinity;
  CHECK_FALSE(std::isfinite(run<S>(logits, {0}, 5, 1.0).nll[0]));
}

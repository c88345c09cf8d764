// The host's single-precision exponential.
#include <bit>
#include <cstring>

#include "harness/catch.hpp"
#include "harness/support.hpp"
#include "kernels/elementary.hpp"

using namespace lexikos;
using namespace lexikos::test;

namespace {

/// One value at a time: a call that is not inlined cannot be part of a vector loop.
__attribute__((noinline)) float one_exp(float x) { return fast_exp(x); }

/// All values in one vector loop (threads on a device).
std::vector<float> all_exp(const std::vector<float>& x) {
  const Device<float> from(x), to(static_cast<Index>(x.size()));
  const View1<float> in = from.view(), out = to.view();
  const ExecSpace space;
  for_each(
      "test::fast_exp", space, static_cast<Index>(x.size()),
      KOKKOS_LAMBDA(const Index i) { out.data()[i] = fast_exp(in.data()[i]); });
  space.fence();
  return to.host();
}

/// The float `steps` places above (below, if negative) x > 0, or x < 0 away from (towards) 0.
float moved(float x, int steps) {
  return std::bit_cast<float>(std::bit_cast<std::int32_t>(x) + steps);
}

/// Every 509th float of [-87, 88], so that all exponents and remainders are met, in ascending
/// order; and all floats next to the places where the power of two changes.
std::vector<float> sweep() {
  std::vector<float> x;
  for (int i = 0x42ae0000; i >= 0x33000000; i -= 509) x.push_back(-std::bit_cast<float>(i));
  for (const float tiny : {-0.0f, 0.0f, 1e-40f}) x.push_back(tiny);
  for (int i = 0x33000000; i <= 0x42b00000; i += 509) x.push_back(std::bit_cast<float>(i));
  for (int n = -126; n <= 126; ++n) {
    const float edge = static_cast<float>((n + 0.5) * 0.6931471805599453);
    for (int step = -200; step <= 200; ++step) x.push_back(moved(edge, step));
  }
  std::sort(x.begin(), x.end());
  while (x.front() < -87.0f) x.erase(x.begin());
  while (x.back() > 88.0f) x.pop_back();
  return x;
}

}  // namespace

TEST_CASE("fast_exp keeps its bound over [-87, 88]", "[fast_exp]") {
  const std::vector<float> x = sweep(), y = all_exp(x);
  REQUIRE(x.size() > 900000);
  double worst = 0;
  float at = 0;
  Index falls = 0;
  double deepest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = std::exp(static_cast<double>(x[i]));
    const double error = std::abs(y[i] - exact) / exact;
    if (!(error <= worst)) {
      worst = error;
      at = x[i];
    }
    if (i > 0 && y[i] < y[i - 1]) {
      ++falls;
      deepest = std::max(deepest, double(y[i - 1] - y[i]) / exact);
    }
  }
  INFO("largest relative error " << worst << " at " << at << "; falls " << falls << ", deepest "
                                 << deepest);
  CHECK(worst < exp_error<float>);
  if (device_is_host) CHECK(falls == 0);  // a device has its own expf
}

TEST_CASE("fast_exp outside its range, and of what is no number", "[fast_exp]") {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> y = all_exp(
      {-87, -87.5f, -1e4f, -inf, 88, 88.5f, 1e4f, inf, 0, -0.0f, std::nanf(""), -std::nanf("")});
  for (int i = 0; i < 4; ++i) {
    CHECK(y[i] >= 0);
    CHECK(y[i] < 2e-38f);
  }
  for (int i = 4; i < 8; ++i) CHECK(y[i] > 1e38f);
  CHECK(y[8] == 1);
  CHECK(y[9] == 1);
  CHECK(std::isnan(y[10]));
  CHECK(std::isnan(y[11]));
  CHECK(fast_exp(-1e4) == 0);  // double is the library's
  CHECK(fast_exp(1.5) == std::exp(1.5));
}

TEST_CASE("fast_exp has the same bits in a vector loop and alone", "[fast_exp]") {
  if (!device_is_host) return;
  std::vector<float> x = sweep();
  for (const float end : {-1e4f, 1e4f, -87.25f, 88.25f, std::nanf("")}) x.push_back(end);
  const std::vector<float> y = all_exp(x);
  Index differ = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float alone = one_exp(x[i]);
    differ += std::bit_cast<std::uint32_t>(alone) != std::bit_cast<std::uint32_t>(y[i]) &&
              !(std::isnan(alone) && std::isnan(y[i]));
  }
  CHECK(differ == 0);
}

TEST_CASE("sigmoid", "[fast_exp]") {
  CHECK(sigmoid(0.0f) == 0.5f);
  CHECK(sigmoid(0.0) == 0.5);
  CHECK(sigmoid(100.0f) == 1.0f);
  CHECK(sigmoid(-100.0f) < 2e-38f);
  CHECK(std::isnan(sigmoid(std::nanf(""))));
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const float x = static_cast<float>(10 * random.normal());
    CHECK(sigmoid(x) == Approx(1 / (1 + std::exp(-double(x)))).epsilon(sigmoid_error<float>));
    // Both sides are rounded in double.
    const double wide = 2 * sigmoid_error<double>;
    CHECK(sigmoid(double(x)) == Approx(1 / (1 + std::exp(-double(x)))).epsilon(wide));
  }
}

// SwiGLU and GELU.
//
// fp32: sigmoid costs fast_exp's 2e-7 plus the rounding of its argument |x| u, and three more
// roundings; where sigmoid is nearly 0 its relative error is exp's, so the bound is relative.
#include "harness/catch.hpp"
#include "harness/reference.hpp"
#include "kernels/gelu.hpp"
#include "kernels/swiglu.hpp"

using namespace lexikos;
using namespace lexikos::test;

namespace {

template <class S>
Doubles swiglu_forward(const Doubles& gu, Index n, Index f) {
  const Device<S> gu_d(gu), y(Doubles(n * f, not_a_number));
  const ExecSpace space;
  swiglu::forward<S>(space, gu_d.view(n, 2 * f), y.view(n, f));
  space.fence();
  return y.values();
}

template <class S>
Doubles swiglu_backward(const Doubles& dy, const Doubles& gu, Index n, Index f) {
  const Device<S> dy_d(dy), gu_d(gu);
  const ExecSpace space;
  swiglu::backward<S>(space, dy_d.view(n, f), gu_d.view(n, 2 * f));
  space.fence();
  return gu_d.values();
}

template <class S>
Doubles gelu_forward(const Doubles& x, Index n, Index f) {
  const Device<S> x_d(x), y(Doubles(n * f, not_a_number));
  const ExecSpace space;
  gelu::forward<S>(space, x_d.view(n, f), y.view(n, f));
  space.fence();
  return y.values();
}

template <class S>
Doubles gelu_backward(const Doubles& dy, const Doubles& x, Index n, Index f) {
  const Device<S> dy_d(dy), x_d(x);
  const ExecSpace space;
  gelu::backward<S>(space, dy_d.view(n, f), x_d.view(n, f));
  space.fence();
  return x_d.values();
}

struct Shape {
  Index n, f;
};

// The last is longer than the tile that loops over all elements run in.
const Shape shapes[] = {{1, 1}, {3, 5}, {2, 130}, {9, 1000}};

}  // namespace

TEST_CASE("swiglu agrees with its formula", "[swiglu]") {
  for (const Shape& z : shapes) {
    CAPTURE(z.n, z.f);
    Random random(z.n + z.f);
    const Doubles gu = rounded<float>(random.normals(2 * z.n * z.f, 3.0));
    const Doubles y = reference::swiglu(gu, z.n, z.f);
    CHECK(relative_error(swiglu_forward<double>(gu, z.n, z.f), y) < 4e-15);
    Doubles bound(y.size());
    for (Index row = 0; row < z.n; ++row) {
      for (Index i = 0; i < z.f; ++i) {
        const double g = std::abs(gu[row * 2 * z.f + i]);
        bound[row * z.f + i] = std::abs(y[row * z.f + i]) * (2e-7 + (g + 4) * roundoff<float>);
      }
    }
    CHECK(error_over_bound(swiglu_forward<float>(gu, z.n, z.f), y, bound) <= 1);
  }
}

TEST_CASE("swiglu's gradient agrees with differences", "[swiglu][gradient]") {
  for (const Shape& z : shapes) {
    CAPTURE(z.n, z.f);
    Random random(z.n + z.f + 1);
    const Doubles gu = random.normals(2 * z.n * z.f, 2.0), dy = random.normals(z.n * z.f);
    const Doubles gradient = swiglu_backward<double>(dy, gu, z.n, z.f);
    const auto value = [&](const Doubles& at) {
      return dot(dy, swiglu_forward<double>(at, z.n, z.f));
    };
    CHECK(gradient_error(value, gu, gradient) < gradient_tolerance);
    CHECK(relative_error(swiglu_backward<float>(dy, gu, z.n, z.f), gradient) < 2e-6);
  }
}

TEMPLATE_TEST_CASE("swiglu of large gates", "[swiglu]", float, double) {
  using S = TestType;
  const Doubles gates = {-1e4, -200, -90, -1e-30, 0, 1e-30, 90, 200, 1e4};
  const Index f = static_cast<Index>(gates.size());
  Doubles gu = gates;
  gu.resize(2 * f, 0.5);
  const Doubles y = swiglu_forward<S>(gu, 1, f), d = swiglu_backward<S>(Doubles(f, 1.0), gu, 1, f);
  for (Index i = 0; i < f; ++i) {
    CAPTURE(gates[i]);
    const double limit = gates[i] > 1 ? gates[i] : gates[i] / (1 + std::exp(-gates[i]));
    // fast_exp ends near 1e38, so a tail below 1e-33 may stay instead of 0.
    CHECK(y[i] == Approx(0.5 * limit).epsilon(1e-6).margin(1e-33));
    const double s = 1 / (1 + std::exp(-gates[i]));
    CHECK(d[i] == Approx(0.5 * s * (1 + gates[i] * (1 - s))).epsilon(1e-6).margin(1e-33));
    CHECK(d[f + i] == Approx(limit).epsilon(1e-6).margin(1e-33));
  }
}

TEST_CASE("gelu agrees with its formula", "[gelu]") {
  for (const Shape& z : shapes) {
    CAPTURE(z.n, z.f);
    Random random(z.n + z.f + 2);
    const Doubles x = rounded<float>(random.normals(z.n * z.f, 2.0));
    const Doubles y = reference::gelu(x);
    // tanh(s) = 2 sigmoid(2 s) - 1 loses the small tail on the reference's side.
    CHECK(absolute_error(gelu_forward<double>(x, z.n, z.f), y) < 1e-15 * std::max(1.0, largest(x)));
    Doubles bound(y.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double s = 1.6 * std::abs(x[i]) * (1 + 0.045 * x[i] * x[i]);
      bound[i] = std::abs(y[i]) * (2e-7 + (6 * s + 4) * roundoff<float>)+1e-15;
    }
    CHECK(error_over_bound(gelu_forward<float>(x, z.n, z.f), y, bound) <= 1);
  }
}

TEST_CASE("gelu's gradient agrees with differences", "[gelu][gradient]") {
  for (const Shape& z : shapes) {
    CAPTURE(z.n, z.f);
    Random random(z.n + z.f + 3);
    const Doubles x = random.normals(z.n * z.f), dy = random.normals(z.n * z.f);
    const Doubles gradient = gelu_backward<double>(dy, x, z.n, z.f);
    const auto value = [&](const Doubles& at) {
      return dot(dy, gelu_forward<double>(at, z.n, z.f));
    };
    CHECK(gradient_error(value, x, gradient) < gradient_tolerance);
    CHECK(relative_error(gelu_backward<float>(dy, x, z.n, z.f), gradient) < 2e-6);
  }
}

TEMPLATE_TEST_CASE("gelu of large arguments", "[gelu]", float, double) {
  using S = TestType;
  const Doubles x = {-1e3, -30, 0, 30, 1e3};
  const Index f = static_cast<Index>(x.size());
  CHECK(absolute_error(gelu_forward<S>(x, 1, f), {0, 0, 0, 30, 1e3}) < 1e-30);
  CHECK(absolute_error(gelu_backward<S>(Doubles(f, 1.0), x, 1, f), {0, 0, 0.5, 1, 1}) < 1e-26);
}

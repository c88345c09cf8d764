// SwiGLU and GELU.
//
// Bounds are per element: sigmoid's relative error, the rounding of its argument times the slope
// 1 - s of log sigmoid, and one u for each operation, of the terms it is one of. Reference values
// in fp64 carry the same bounds with fp64's u.
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

/// What swiglu's value y may be off by: sigmoid, and two products.
template <class S>
double swiglu_bound(double y) {
  return std::abs(y) * (sigmoid_error<S> + 2 * roundoff<S>);
}

/// What its gradient [N 2F] may be off by. dg = dy u s t, t = 1 + g (1 - s); du = dy g s.
template <class S>
Doubles swiglu_gradient_bound(const Doubles& dy, const Doubles& gu, Index n, Index f) {
  constexpr double u = roundoff<S>, s_error = sigmoid_error<S>;
  Doubles bound(2 * n * f);
  for (Index row = 0; row < n; ++row) {
    for (Index i = 0; i < f; ++i) {
      const Index at = row * 2 * f + i;
      const double g = gu[at], s = 1 / (1 + std::exp(-g)), d = std::abs(dy[row * f + i]);
      const double t = std::abs(1 + g * (1 - s));
      const double t_error = u * t + std::abs(g) * (s_error * s + 2 * u * (1 - s));
      bound[at] = d * std::abs(gu[at + f]) * s * ((s_error + 3 * u) * t + t_error);
      bound[at + f] = d * std::abs(g) * s * (s_error + 2 * u);
    }
  }
  return bound;
}

/// GELU's parts at x, and the relative error of s, whose argument a is rounded 7 times.
template <class S>
struct GeluParts {
  double s, slope, s_error;
  explicit GeluParts(double x) {
    const double a = gelu::twice_root_two_over_pi * (x + gelu::cubic * x * x * x);
    s = 1 / (1 + std::exp(-a));
    slope = gelu::twice_root_two_over_pi * (1 + 3 * gelu::cubic * x * x);
    s_error = sigmoid_error<S> + 7 * roundoff<S> * std::abs(a) * (1 - s);
  }
};

/// What gelu's value x s may be off by. The reference's 1 + tanh loses 4 u of x on the far left.
template <class S>
double gelu_bound(double x) {
  const GeluParts<S> parts(x);
  return std::abs(x) * (parts.s * (parts.s_error + roundoff<S>)+4 * roundoff<double>);
}

/// What its gradient dy (s + x s (1 - s) slope) may be off by; 1 - s is off by s's error and u.
template <class S>
double gelu_gradient_bound(double dy, double x) {
  constexpr double u = roundoff<S>;
  const GeluParts<S> parts(x);
  const double s = parts.s, factor = std::abs(x * s * parts.slope);
  const double terms = s * (parts.s_error + 2 * u) + factor * (parts.s_error + 12 * u * (1 - s));
  return std::abs(dy) * terms;
}

/// fast_exp ends at exp(88) in fp32, so a sigmoid far left stays at exp(-88) where 0 is due.
const double sigmoid_tail = std::exp(-88.0);

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
    Doubles bound(y.size()), narrow(y.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      bound[i] = 2 * swiglu_bound<double>(y[i]);
      narrow[i] = swiglu_bound<float>(y[i]) + swiglu_bound<double>(y[i]);
    }
    CHECK(error_over_bound(swiglu_forward<double>(gu, z.n, z.f), y, bound) <= 1);
    CHECK(error_over_bound(swiglu_forward<float>(gu, z.n, z.f), y, narrow) <= 1);
  }
}

TEST_CASE("swiglu's gradient agrees with differences", "[swiglu][gradient]") {
  for (const Shape& z : shapes) {
    CAPTURE(z.n, z.f);
    Random random(z.n + z.f + 1);
    const Doubles gu = rounded<float>(random.normals(2 * z.n * z.f, 2.0)),
                  dy = rounded<float>(random.normals(z.n * z.f));
    const Doubles gradient = swiglu_backward<double>(dy, gu, z.n, z.f);
    const auto value = [&](const Doubles& at) {
      return dot(dy, swiglu_forward<double>(at, z.n, z.f));
    };
    CHECK(gradient_error(value, gu, gradient) < gradient_tolerance);
    CHECK(error_over_bound(swiglu_backward<float>(dy, gu, z.n, z.f), gradient,
                           swiglu_gradient_bound<float>(dy, gu, z.n, z.f)) <= 1);
  }
}

TEMPLATE_TEST_CASE("swiglu of large gates", "[swiglu]", float, double) {
  using S = TestType;
  const Doubles gates = {-1e4, -200, -90, -1e-30, 0, 1e-30, 90, 200, 1e4};
  const Index f = static_cast<Index>(gates.size());
  Doubles gu = gates;
  gu.resize(2 * f, 0.5);
  const Doubles y = swiglu_forward<S>(gu, 1, f), d = swiglu_backward<S>(Doubles(f, 1.0), gu, 1, f);
  const Doubles bound = swiglu_gradient_bound<S>(Doubles(f, 1.0), gu, 1, f);
  for (Index i = 0; i < f; ++i) {
    CAPTURE(gates[i]);
    const double s = 1 / (1 + std::exp(-gates[i])), tail = (1 + std::abs(gates[i])) * sigmoid_tail;
    const double expected = 0.5 * gates[i] * s;
    CHECK(std::abs(y[i] - expected) <= 2 * swiglu_bound<S>(expected) + tail);
    CHECK(std::abs(d[i] - 0.5 * s * (1 + gates[i] * (1 - s))) <= 2 * bound[i] + tail);
    CHECK(std::abs(d[f + i] - gates[i] * s) <= 2 * bound[f + i] + tail);
  }
}

TEST_CASE("gelu agrees with its formula", "[gelu]") {
  for (const Shape& z : shapes) {
    CAPTURE(z.n, z.f);
    Random random(z.n + z.f + 2);
    const Doubles x = rounded<float>(random.normals(z.n * z.f, 2.0));
    const Doubles y = reference::gelu(x);
    Doubles bound(y.size()), narrow(y.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      bound[i] = 2 * gelu_bound<double>(x[i]);
      narrow[i] = gelu_bound<float>(x[i]) + gelu_bound<double>(x[i]);
    }
    CHECK(error_over_bound(gelu_forward<double>(x, z.n, z.f), y, bound) <= 1);
    CHECK(error_over_bound(gelu_forward<float>(x, z.n, z.f), y, narrow) <= 1);
  }
}

TEST_CASE("gelu's gradient agrees with differences", "[gelu][gradient]") {
  for (const Shape& z : shapes) {
    CAPTURE(z.n, z.f);
    Random random(z.n + z.f + 3);
    const Doubles x = rounded<float>(random.normals(z.n * z.f)),
                  dy = rounded<float>(random.normals(z.n * z.f));
    const Doubles gradient = gelu_backward<double>(dy, x, z.n, z.f);
    const auto value = [&](const Doubles& at) {
      return dot(dy, gelu_forward<double>(at, z.n, z.f));
    };
    CHECK(gradient_error(value, x, gradient) < gradient_tolerance);
    Doubles bound(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) bound[i] = gelu_gradient_bound<float>(dy[i], x[i]);
    CHECK(error_over_bound(gelu_backward<float>(dy, x, z.n, z.f), gradient, bound) <= 1);
  }
}

TEMPLATE_TEST_CASE("gelu of large arguments", "[gelu]", float, double) {
  using S = TestType;
  const Doubles x = {-1e3, -30, 0, 30, 1e3};
  const Index f = static_cast<Index>(x.size());
  Doubles tail(f), slope_tail(f);
  for (Index i = 0; i < f; ++i) {
    tail[i] = (1 + std::abs(x[i])) * sigmoid_tail;
    slope_tail[i] = tail[i] * GeluParts<S>(x[i]).slope;
  }
  CHECK(error_over_bound(gelu_forward<S>(x, 1, f), {0, 0, 0, 30, 1e3}, tail) <= 1);
  CHECK(error_over_bound(gelu_backward<S>(Doubles(f, 1.0), x, 1, f), {0, 0, 0.5, 1, 1},
                         slope_tail) <= 1);
}

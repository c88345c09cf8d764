// RMSNorm and rotary positions.
//
// A norm is a product of three factors, of which 1 / rms carries (C / 2 + 3) u in the worst case
// (sum of C squares, halved by the root), so (C / 2 + 6) u relative to the value itself; u is that
// of what is tested and that of the reference in fp64.
#include "harness/catch.hpp"
#include "harness/reference.hpp"
#include "kernels/rmsnorm.hpp"
#include "kernels/rope.hpp"

using namespace lexikos;
using namespace lexikos::test;

namespace {

constexpr double eps = 1e-5;

struct NormResult {
  Doubles x, y, rstd;
};

template <class S>
NormResult norm_forward(const Doubles& x, const Doubles& w, Index n, Index c) {
  const Device<S> x_d(x), w_d(w), y(Doubles(n * c, not_a_number)), rstd(n);
  const ExecSpace space;
  rmsnorm::forward<S>(space, x_d.view(n, c), w_d.view(), eps, y.view(n, c), rstd.view());
  space.fence();
  return {x_d.values(), y.values(), rstd.values()};
}

template <class S>
NormResult norm_forward_add(const Doubles& x, const Doubles& delta, const Doubles& w, Index n,
                            Index c, bool in_place) {
  const Device<S> x_d(x), delta_d(delta), w_d(w), y(n * c), rstd(n), other(n * c);
  const Device<S>& out = in_place ? x_d : other;
  const ExecSpace space;
  rmsnorm::forward_add<S>(space, x_d.view(n, c), delta_d.view(n, c), w_d.view(), eps,
                          out.view(n, c), y.view(n, c), rstd.view());
  space.fence();
  return {out.values(), y.values(), rstd.values()};
}

template <class S>
constexpr double units = roundoff<S> + roundoff<double>;

/// What each of the norms y of rows of C elements may be off by.
template <class S>
Doubles norm_bound(Doubles y, Index c) {
  for (double& value : y) value = std::abs(value) * (double(c) / 2 + 6) * units<S>;
  return y;
}

Doubles times(Doubles values, double factor) {
  for (double& value : values) value *= factor;
  return values;
}

struct NormGradients {
  Doubles dx, dw;
};

/// Gradients added to what dx0 and dw0 hold.
template <class S>
NormGradients norm_backward(const Doubles& dy, const Doubles& x, const Doubles& w, Index n, Index c,
                            const Doubles& dx0, const Doubles& dw0) {
  const Device<S> x_d(x), w_d(w), dy_d(dy), y(n * c), rstd(n), dx(dx0), dw(dw0);
  const Index blocks = rmsnorm::partial_rows(n);
  const Device<S> partial(Doubles(blocks * c, not_a_number));
  const ExecSpace space;
  rmsnorm::forward<S>(space, x_d.view(n, c), w_d.view(), eps, y.view(n, c), rstd.view());
  rmsnorm::backward<S>(space, dy_d.view(n, c), x_d.view(n, c), w_d.view(), rstd.view(),
                       dx.view(n, c), dw.view(), partial.view(blocks, c));
  space.fence();
  return {dx.values(), dw.values()};
}

Doubles sum(Doubles a, const Doubles& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

struct RopeShape {
  Index b, heads, t, width, kv_heads;
  Index size() const { return b * heads * t * width; }
  Index columns() const { return (heads + 2 * kv_heads) * width; }
  Index qkv_size() const { return b * t * columns(); }
};

constexpr double base = 10000;

template <class S>
struct RopeTables {
  Device<S> cosine, sine;
  Index t, half;
  RopeTables(Index t_count, Index width)
      : cosine(t_count * width / 2), sine(t_count * width / 2), t(t_count), half(width / 2) {
    rope::fill_tables<S>(ExecSpace(), base, cosine.view(t, half), sine.view(t, half));
  }
};

template <class S>
reference::HeadArrays rope_forward(const Doubles& qkv, const RopeShape& z) {
  const RopeTables<S> tables(z.t, z.width);
  const Device<S> from(qkv), q(z.size()), k(z.size()), v(z.size());
  const ExecSpace space;
  rope::forward<S>(space, Spans(), from.view(z.b * z.t, z.columns()),
                   tables.cosine.view(z.t, z.width / 2), tables.sine.view(z.t, z.width / 2),
                   z.heads, q.view(z.b, z.heads, z.t, z.width), k.view(z.b, z.heads, z.t, z.width),
                   v.view(z.b, z.heads, z.t, z.width));
  space.fence();
  return {q.values(), k.values(), v.values()};
}

template <class S>
Doubles rope_backward(const reference::HeadArrays& d, const RopeShape& z) {
  const RopeTables<S> tables(z.t, z.width);
  const Device<S> q(d.q), k(d.k), v(d.v), out(Doubles(z.qkv_size(), not_a_number));
  const ExecSpace space;
  rope::backward<S>(space, Spans(), q.view(z.b, z.heads, z.t, z.width),
                    k.view(z.b, z.heads, z.t, z.width), v.view(z.b, z.heads, z.t, z.width),
                    tables.cosine.view(z.t, z.width / 2), tables.sine.view(z.t, z.width / 2),
                    z.heads, out.view(z.b * z.t, z.columns()));
  space.fence();
  return out.values();
}

/// What a turned element may be off by, relative to the largest: an angle of up to T rounds to T u,
/// and so do its sine and cosine; here and in the reference.
double turn_error(Index t) { return (double(t) + 8) * units<double>; }

/// The same relative to its pair's norm, whatever the angle: table, product and sum, 4 u.
constexpr double pair_error = 4 * roundoff<double>;

const RopeShape rope_shapes[] = {{1, 1, 1, 2, 1},  {2, 3, 5, 6, 3}, {1, 1, 70, 8, 1},
                                 {3, 2, 4, 64, 2}, {2, 6, 5, 4, 2}, {1, 4, 3, 2, 1},
                                 {2, 4, 3, 6, 2}};

}  // namespace

TEST_CASE("rmsnorm agrees with its formula", "[rmsnorm]") {
  for (const Index n : {1, 5, 64, 65, 130}) {
    for (const Index c : {1, 7, 48, 257}) {
      Random random(n * 1000 + c);
      const Doubles x = rounded<float>(random.normals(n * c, 3.0));
      const Doubles delta = rounded<float>(random.normals(n * c));
      const Doubles w = rounded<float>(random.normals(c, 0.5, 1.0));
      CAPTURE(n, c);

      const Doubles y = reference::rmsnorm(x, w, n, c, eps);
      const NormResult plain = norm_forward<double>(x, w, n, c);
      CHECK(error_over_bound(plain.y, y, norm_bound<double>(y, c)) <= 1);
      for (Index row = 0; row < n; ++row) {
        CHECK(plain.rstd[row] * reference::rms(&x[row * c], c, eps) ==
              Approx(1).epsilon((double(c) / 2 + 6) * units<double>));
      }
      CHECK(error_over_bound(norm_forward<float>(x, w, n, c).y, y, norm_bound<float>(y, c)) <= 1);

      const Doubles total = sum(x, delta);
      const Doubles y_total = reference::rmsnorm(total, w, n, c, eps);
      for (const bool in_place : {false, true}) {
        const NormResult added = norm_forward_add<double>(x, delta, w, n, c, in_place);
        CHECK(absolute_error(added.x, total) == 0);
        CHECK(error_over_bound(added.y, y_total, norm_bound<double>(y_total, c)) <= 1);
        // The residual sum in one pass is the norm of the sum, to the last bit.
        CHECK(absolute_error(added.y, norm_forward<double>(total, w, n, c).y) <=
              4 * roundoff<double> * largest(y_total));
      }
    }
  }
}

TEST_CASE("rmsnorm's gradients are added, and agree with the Jacobian and with differences",
          "[rmsnorm][gradient]") {
  for (const Index n : {1, 3, 64, 65, 130}) {
    for (const Index c : {1, 6, 33}) {
      Random random(n * 100 + c);
      // One row is small, so that eps counts.
      Doubles x = random.normals(n * c);
      for (Index i = 0; i < c; ++i) x[i] *= 3e-3;
      x = rounded<float>(x);
      const Doubles w = rounded<float>(random.normals(c, 0.5, 1.0)),
                    dy = rounded<float>(random.normals(n * c)),
                    dx0 = rounded<float>(random.normals(n * c)),
                    dw0 = rounded<float>(random.normals(c));
      CAPTURE(n, c);

      const auto expected = reference::rmsnorm_gradient(dy, x, w, n, c, eps);
      const NormGradients found = norm_backward<double>(dy, x, w, n, c, dx0, dw0);
      const NormGradients zero =
          norm_backward<double>(dy, x, w, n, c, Doubles(n * c, 0.0), Doubles(c, 0.0));
      // In the small row the norm changes over distances of sqrt(eps): h has to be smaller.
      const double h = 3e-6;
      const auto of_x = [&](const Doubles& at) {
        return dot(dy, norm_forward<double>(at, w, n, c).y);
      };
      const auto of_w = [&](const Doubles& at) {
        return dot(dy, norm_forward<double>(x, at, n, c).y);
      };
      CHECK(gradient_error(of_x, x, zero.dx, h) < gradient_tolerance);
      CHECK(gradient_error(of_w, w, zero.dw) < gradient_tolerance);

      // Each term that is added up, times the roundings that it has been through: 1 / rms and its
      // third power carry 3 (C / 2 + 3), the product with x another C. In units of u.
      const NormGradients single = norm_backward<float>(dy, x, w, n, c, dx0, dw0);
      Doubles dx_bound(n * c), dw_bound(c);
      for (Index row = 0; row < n; ++row) {
        const double r = 1 / reference::rms(&x[row * c], c, eps);
        double along = 0;
        for (Index i = 0; i < c; ++i) along += std::abs(dy[row * c + i] * w[i] * x[row * c + i]);
        for (Index i = 0; i < c; ++i) {
          const Index at = row * c + i;
          dx_bound[at] = (2.5 * double(c) + 16) *
                         (std::abs(dy[at] * w[i]) * r +
                          std::abs(x[at]) * along * r * r * r / double(c) + std::abs(dx0[at]));
          dw_bound[i] += std::abs(dy[at] * x[at]) * r;
        }
      }
      for (Index i = 0; i < c; ++i) {
        dw_bound[i] = (dw_bound[i] + std::abs(dw0[i])) * (double(n) + double(c) / 2 + 8);
      }
      const Doubles dx = sum(expected.dx, dx0), dw = sum(expected.dw, dw0);
      CHECK(error_over_bound(found.dx, dx, times(dx_bound, units<double>)) <= 1);
      CHECK(error_over_bound(found.dw, dw, times(dw_bound, units<double>)) <= 1);
      CHECK(error_over_bound(single.dx, dx, times(dx_bound, units<float>)) <= 1);
      CHECK(error_over_bound(single.dw, dw, times(dw_bound, units<float>)) <= 1);
    }
  }
}

TEMPLATE_TEST_CASE("rmsnorm of a zero row", "[rmsnorm]", float, double) {
  // Token 0 of a binary code is the zero vector.
  using S = TestType;
  const Index n = 2, c = 5;
  const Doubles x(n * c, 0.0), w(c, 2.0), dy(n * c, 1.0);
  const NormResult y = norm_forward<S>(x, w, n, c);
  CHECK(absolute_error(y.y, Doubles(n * c, 0.0)) == 0);
  const NormGradients g = norm_backward<S>(dy, x, w, n, c, Doubles(n * c, 0.0), Doubles(c, 0.0));
  CHECK(relative_error(g.dx, Doubles(n * c, 2.0 / std::sqrt(eps))) < 4 * roundoff<S>);
  CHECK(absolute_error(g.dw, Doubles(c, 0.0)) == 0);
}

TEST_CASE("rope turns queries and keys and moves values", "[rope]") {
  for (const RopeShape& z : rope_shapes) {
    Random random(z.t * 10 + z.width);
    const Doubles qkv = rounded<float>(random.normals(z.qkv_size()));
    const auto expected = reference::rope(qkv, z.b, z.heads, z.kv_heads, z.t, z.width, base);
    CAPTURE(z.b, z.heads, z.t, z.width, z.kv_heads);

    const auto found = rope_forward<double>(qkv, z);
    CHECK(absolute_error(found.q, expected.q) < turn_error(z.t) * largest(qkv));
    CHECK(absolute_error(found.k, expected.k) < turn_error(z.t) * largest(qkv));
    CHECK(absolute_error(found.v, expected.v) == 0);

    // Tables are made in double, so fp32 costs one rounding of each factor, product and sum.
    const auto single = rope_forward<float>(qkv, z);
    CHECK(absolute_error(single.q, expected.q) < 6 * roundoff<float> * largest(qkv));
    CHECK(absolute_error(single.v, expected.v) == 0);
  }
}

TEST_CASE("rope keeps norms, pair by pair", "[rope]") {
  const RopeShape z{2, 2, 9, 6, 2};
  Random random(5);
  const Doubles qkv = random.normals(z.qkv_size());
  const auto turned = rope_forward<double>(qkv, z);
  const Index c = z.heads * z.width, half = z.width / 2;
  // Two elements, and two hypots that are off by a unit in the last place.
  const double limit = std::sqrt(2.0) * pair_error + 4 * roundoff<double>;
  for (Index n = 0; n < z.b * z.t; ++n) {
    for (Index h = 0; h < z.heads; ++h) {
      for (Index i = 0; i < half; ++i) {
        const Index from = n * 3 * c + h * z.width + i;
        const Index to = ((n / z.t * z.heads + h) * z.t + n % z.t) * z.width + i;
        CHECK(std::hypot(turned.q[to], turned.q[to + half]) ==
              Approx(std::hypot(qkv[from], qkv[from + half])).epsilon(limit));
        CHECK(std::hypot(turned.k[to], turned.k[to + half]) ==
              Approx(std::hypot(qkv[from + c], qkv[from + c + half])).epsilon(limit));
      }
    }
  }
}

TEST_CASE("rope: a product of query and key depends only on their distance", "[rope]") {
  // The same query and key at every position.
  const RopeShape z{1, 1, 40, 8, 1};
  Random random(6);
  const Doubles one = random.normals(3 * z.width);
  Doubles qkv;
  for (Index t = 0; t < z.t; ++t) qkv.insert(qkv.end(), one.begin(), one.end());
  const auto turned = rope_forward<double>(qkv, z);
  const auto product = [&](Index t, Index s) {
    double sum = 0;
    for (Index e = 0; e < z.width; ++e) {
      sum += turned.q[t * z.width + e] * turned.k[s * z.width + e];
    }
    return sum;
  };
  // Both factors of both products are turned.
  const double limit =
      (4 * turn_error(z.t) + 2 * double(z.width) * roundoff<double>)*double(z.width) *
      largest(one) * largest(one);
  double spread = 0;
  for (Index distance = -20; distance <= 20; ++distance) {
    const Index first = std::max<Index>(0, -distance);
    for (Index s = first; s < z.t && s + distance < z.t; ++s) {
      CHECK(std::abs(product(s + distance, s) - product(first + distance, first)) < limit);
    }
    spread = std::max(spread, std::abs(product(first + distance, first) - product(0, 0)));
  }
  CHECK(spread > 0.1);  // and it does depend on it
}

TEST_CASE("rope's backward is the transpose of its forward", "[rope][gradient]") {
  for (const RopeShape& z : rope_shapes) {
    Random random(z.t * 10 + z.width + 1);
    const Doubles qkv = random.normals(z.qkv_size());
    const reference::HeadArrays d{random.normals(z.size()), random.normals(z.size()),
                                  random.normals(z.size())};
    const Doubles dqkv = rope_backward<double>(d, z);
    const auto value = [&](const Doubles& at) {
      const auto out = rope_forward<double>(at, z);
      return dot(d.q, out.q) + dot(d.k, out.k) + dot(d.v, out.v);
    };
    CAPTURE(z.b, z.heads, z.t, z.width, z.kv_heads);
    CHECK(std::abs(value(qkv) - dot(dqkv, qkv)) <
          likely_rounding<double>(z.qkv_size(), norm(dqkv) * norm(qkv)));
    CHECK(gradient_error(value, qkv, dqkv) < gradient_tolerance);
    if (z.kv_heads < z.heads) continue;
    // A rotation's transpose is its inverse: turning back gives qkv again. Two elements' errors and
    // one more, relative to a pair's norm, which is up to root two of the largest element.
    const Doubles back = rope_backward<double>(rope_forward<double>(qkv, z), z);
    CHECK(relative_error(back, qkv) < (2 + std::sqrt(2.0)) * pair_error);
  }
}

// What is stored in bf16: rounding, and every operator that reads or writes it, against fp64.
//
// All inputs are bf16 numbers, so they are exact everywhere. u = 2^-8 is bf16's unit roundoff. Sums
// and functions are fp32; their errors, bounded in the tests of each operator, are below u / 50
// here and are covered, with products of two errors, by `slack`.
#include <bit>
#include <cmath>

#include "harness/attention_bounds.hpp"
#include "harness/catch.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/gelu.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/narrow.hpp"
#include "kernels/rmsnorm.hpp"
#include "kernels/rope.hpp"
#include "kernels/swiglu.hpp"
#include "utils/error.hpp"

using namespace lexikos;
using namespace lexikos::test;

namespace {

constexpr double u = roundoff<Bf16>;
constexpr double slack = 1.05;
constexpr double smallest = std::numeric_limits<float>::min();  // below it, rounding is absolute

Doubles stored(const Doubles& values) {
  Doubles result = values;
  for (double& value : result) value = static_cast<float>(Bf16(value));
  return result;
}

float of_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// |value| u for each value: one rounding.
Doubles one_rounding(const Doubles& values, double more = 0) {
  Doubles bound = values;
  for (double& value : bound) value = slack * u * std::abs(value) + more;
  return bound;
}

class Using {
 public:
  explicit Using(GemmLibrary library) : before_(gemm_library<Bf16>()) {
    use_gemm_library<Bf16>(library);
  }
  ~Using() { use_gemm_library<Bf16>(before_); }

 private:
  GemmLibrary before_;
};

/// What is in use here, and what a host falls back on where its processor has no bf16.
std::vector<GemmLibrary> libraries() {
  std::vector<GemmLibrary> all{gemm_library<Bf16>()};
  for (const GemmLibrary other : {GemmLibrary::widened, GemmLibrary::loops}) {
    const bool here = other == GemmLibrary::loops || device_is_host;
    if (here && other != all[0]) all.push_back(other);
  }
  return all;
}

struct Shape {
  Index m, n, k;
};

template <class C>
double gemm_error(const Shape& s, bool ta, bool tb, double alpha, double beta) {
  Random random(s.m * 10007 + s.n * 101 + s.k);
  const Doubles a = stored(random.normals(s.m * s.k)), b = stored(random.normals(s.k * s.n));
  const Doubles c =
      beta == 0 ? Doubles(s.m * s.n, not_a_number) : stored(random.normals(s.m * s.n));
  const auto expected = reference::gemm(ta, tb, s.m, s.n, s.k, alpha, a.data(), b.data(), beta, c);
  const Device<Bf16> a_d(a), b_d(b);
  const Device<C> c_d(c), on_thread(c);
  const Op op_a = ta ? Op::transpose : Op::none, op_b = tb ? Op::transpose : Op::none;
  const ExecSpace space;
  gemm<Bf16>(space, op_a, op_b, float(alpha), ta ? a_d.view(s.k, s.m) : a_d.view(s.m, s.k),
             tb ? b_d.view(s.n, s.k) : b_d.view(s.k, s.n), float(beta), c_d.view(s.m, s.n));
  space.fence();
  Doubles bound(c.size());
  for (std::size_t i = 0; i < c.size(); ++i) {
    bound[i] = rounding_of_sums<float>(s.k, expected.magnitude[i]);
    if (std::is_same_v<C, Bf16>) bound[i] += slack * u * std::abs(expected.value[i]);
  }
  double error = error_over_bound(c_d.values(), expected.value, bound);
  if constexpr (device_is_host) {
    gemm_on_thread<Bf16, C>(op_a, op_b, float(alpha),
                            {a_d.data(), ta ? s.k : s.m, ta ? s.m : s.k, 0},
                            {b_d.data(), tb ? s.n : s.k, tb ? s.k : s.n, 0}, float(beta),
                            {on_thread.data(), s.m, s.n, 0});
    error = std::max(error, error_over_bound(on_thread.values(), expected.value, bound));
  }
  return error;
}

/// q, k, v and dout of one attention, and where its results go.
struct AttentionArrays {
  Index b, heads, t, width;
  reference::HeadArrays x;
  Doubles dout;
};

AttentionArrays attention_arrays(Index b, Index heads, Index t, Index width) {
  Random random(t * 100 + width);
  const Index size = b * heads * t * width;
  const auto draw = [&] { return stored(random.normals(size)); };
  AttentionArrays a{b, heads, t, width, {}, {}};
  a.x.q = draw();
  a.x.k = draw();
  a.x.v = draw();
  a.dout = draw();
  return a;
}

/// Bounds of what attention's backward may be off by where weights, the gradients of logits and o
/// are rounded once each: |dp_ij| u in the weights, and in delta_i, the sum over e of dout o, u of
/// each term.
reference::HeadArrays gradient_bounds(const AttentionArrays& a, const reference::Attention& ref) {
  const Index total = a.b * a.heads, size = total * a.t * a.width;
  const double scale = 1 / std::sqrt(double(a.width));
  reference::HeadArrays bound{Doubles(size, 0.0), Doubles(size, 0.0), Doubles(size, 0.0)};
  for (Index g = 0; g < total; ++g) {
    for (Index i = 0; i < a.t; ++i) {
      const double* const p = &ref.p[(g * a.t + i) * a.t];
      const Index row = ((g / a.heads * a.t + i) * a.heads + g % a.heads) * a.width;
      double delta = 0, delta_error = 0;
      for (Index e = 0; e < a.width; ++e) {
        delta += a.dout[row + e] * ref.o[row + e];
        // o itself is off by its own rounding and by that of the weights.
        double of_weights = 0;
        for (Index j = 0; j <= i; ++j) {
          of_weights += p[j] * std::abs(a.x.v[(g * a.t + j) * a.width + e]);
        }
        delta_error += u * std::abs(a.dout[row + e]) * (std::abs(ref.o[row + e]) + of_weights);
      }
      for (Index j = 0; j <= i; ++j) {
        const Index key = (g * a.t + j) * a.width, query = (g * a.t + i) * a.width;
        double dp = 0;
        for (Index e = 0; e < a.width; ++e) dp += a.dout[row + e] * a.x.v[key + e];
        const double ds = scale * p[j] * (u * std::abs(dp - delta) + delta_error);
        for (Index e = 0; e < a.width; ++e) {
          bound.q[query + e] += slack * ds * std::abs(a.x.k[key + e]);
          bound.k[key + e] += slack * ds * std::abs(a.x.q[query + e]);
          bound.v[key + e] += slack * u * p[j] * std::abs(a.dout[row + e]);
        }
      }
    }
  }
  return bound;
}

}  // namespace

TEST_CASE("bf16 rounds to the nearest, ties to even", "[bf16]") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = of_bits(bits << 16);
    Bf16 exact;
    exact.bits = static_cast<std::uint16_t>(bits);
    if (std::isnan(value)) {
      CHECK(std::isnan(static_cast<float>(Bf16(value))));
      continue;
    }
    // Every bf16 number is itself; a half step above goes to the even neighbour, and more or less
    // than a half to the nearer.
    const std::uint32_t up = bits + 1;
    const bool ok = Bf16(value).bits == bits && static_cast<float>(exact) == value &&
                    (std::isinf(value) ||
                     (Bf16(of_bits(bits << 16 | 0x7FFF)).bits == bits &&
                      Bf16(of_bits(bits << 16 | 0x8001)).bits == up &&
                      Bf16(of_bits(bits << 16 | 0x8000)).bits == (bits % 2 == 0 ? bits : up)));
    if (!ok) FAIL("bits " << bits);
  }
  CHECK(std::isnan(
      static_cast<float>(Bf16(of_bits(0x7F800001)))));  // its payload is all in what is cut
  CHECK(std::isnan(static_cast<float>(Bf16(of_bits(0xFFFFFFFF)))));
  CHECK(std::isinf(static_cast<float>(Bf16(3.4e38f))));
}

TEST_CASE("bf16 is narrowed in device memory as one by one", "[bf16]") {
  Random random(3);
  const Doubles values = rounded<float>(random.normals(9000, 100.0));
  const Device<float> from(values);
  const Device<Bf16> to(Doubles(values.size(), not_a_number));
  narrow_into<Bf16>(ExecSpace(), from.view(), to.view());
  ExecSpace().fence();
  CHECK(absolute_error(to.values(), stored(values)) == 0);
}

TEST_CASE("bf16 products agree with triple loops", "[bf16][gemm]") {
  const Shape shapes[] = {{1, 1, 1},    {1, 7, 5},    {13, 1, 3},     {5, 3, 1},   {33, 17, 65},
                          {7, 129, 31}, {64, 48, 40}, {128, 128, 64}, {19, 5, 257}};
  const double factors[][2] = {{1, 0}, {1, 1}, {-0.75, 0}, {0.5, -1.25}};
  for (const GemmLibrary library : libraries()) {
    const Using use(library);
    for (const Shape& s : shapes) {
      for (const bool ta : {false, true}) {
        for (const bool tb : {false, true}) {
          for (const auto& f : factors) {
            CAPTURE(gemm_library_name<Bf16>(), s.m, s.n, s.k, ta, tb, f[0], f[1]);
            CHECK(gemm_error<float>(s, ta, tb, f[0], f[1]) <= 1);
            CHECK(gemm_error<Bf16>(s, ta, tb, f[0], f[1]) <= 1);
          }
        }
      }
    }
  }
  CHECK_THROWS_AS(use_gemm_library<Bf16>(GemmLibrary::kokkos_kernels), Error);
}

TEST_CASE("widened products of several tiles and panels agree with triple loops",
          "[bf16][gemm][widened]") {
  if (!device_is_host) return;
  const Using use(GemmLibrary::widened);
  for (const Shape& s : {Shape{300, 270, 400}, Shape{17, 600, 800}}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        CAPTURE(s.m, s.n, s.k, ta, tb);
        CHECK(gemm_error<float>(s, ta, tb, 0.5, -1.25) <= 1);
        CHECK(gemm_error<Bf16>(s, ta, tb, 0.5, -1.25) <= 1);
        CHECK(gemm_error<float>(s, ta, tb, 1, 0) <= 1);
      }
    }
  }
}

TEST_CASE("bf16 batched products leave gaps alone", "[bf16][gemm]") {
  for (const GemmLibrary library : libraries()) {
    const Using use(library);
    const Index m = 5, n = 7, k = 33, count = 3, gap = 4;
    Random random(9);
    const Doubles a = stored(random.normals(count * m * k)),
                  b = stored(random.normals(count * k * n));
    const Device<Bf16> a_d(a), b_d(b);
    const Device<float> c_d(Doubles(count * (m * n + gap), -1.0));
    gemm_batched<Bf16, float>(ExecSpace(), Op::none, Op::none, count, 1.0f,
                              {a_d.data(), m, k, m * k}, {b_d.data(), k, n, k * n}, 0.0f,
                              {c_d.data(), m, n, m * n + gap});
    ExecSpace().fence();
    const Doubles c = c_d.values();
    for (Index g = 0; g < count; ++g) {
      const auto expected = reference::gemm(false, false, m, n, k, 1, &a[g * m * k], &b[g * k * n],
                                            0, Doubles(m * n, 0.0));
      for (Index i = 0; i < m * n; ++i) {
        CHECK(std::abs(c[g * (m * n + gap) + i] - expected.value[i]) <=
              2 * (double(k) + 3) * roundoff<float> * expected.magnitude[i]);
      }
      for (Index i = 0; i < gap; ++i) CHECK(c[g * (m * n + gap) + m * n + i] == -1.0);
    }
  }
}

TEST_CASE("bf16 attention", "[bf16][attention]") {
  for (const GemmLibrary library : libraries()) {
    const Using use(library);
    for (const auto& a : {attention_arrays(1, 1, 1, 2), attention_arrays(2, 3, 5, 6),
                          attention_arrays(1, 2, 129, 16), attention_arrays(2, 1, 300, 8)}) {
      CAPTURE(gemm_library_name<Bf16>(), a.b, a.heads, a.t, a.width);
      const Index size = a.b * a.heads * a.t * a.width, rows = a.b * a.heads;
      const Device<Bf16> q(a.x.q), k(a.x.k), v(a.x.v), dout(a.dout), o(Doubles(size, not_a_number));
      const Device<float> lse(Doubles(rows * a.t, not_a_number)), dq(Doubles(size, not_a_number)),
          dk(Doubles(size, not_a_number)), dv(Doubles(size, not_a_number)),
          work(attention::forward_workspace<Bf16>(rows, a.t, a.width)),
          work_b(attention::backward_workspace<Bf16>(rows, a.t, a.width));
      const auto in = [&](const auto& x) { return x.view(a.b, a.heads, a.t, a.width); };
      const auto flat = [&](const auto& x) { return x.view(a.b * a.t, a.heads * a.width); };
      const ExecSpace space;
      attention::forward<Bf16>(space, Spans(), in(q), in(k), in(v), flat(o),
                               lse.view(a.b, a.heads, a.t), work.view());
      attention::backward<Bf16>(space, Spans(), flat(dout), in(q), in(k), in(v), flat(o),
                                lse.view(a.b, a.heads, a.t), in(dq), in(dk), in(dv), work_b.view());
      space.fence();

      const auto ref = reference::attention(a.x.q, a.x.k, a.x.v, a.b, a.heads, a.t, a.width);
      // Weights are rounded, and o is: 2 u of the mean of |v|, which is below max|v|.
      CHECK(absolute_error(o.values(), ref.o) <= slack * 2 * u * largest(a.x.v));
      // fp32 throughout: products of E terms, then a sum of T exponentials.
      const double most = std::max(largest(ref.lse), 1.0);
      CHECK(absolute_error(lse.values(), ref.lse) <= rounding_of_sums<float>(a.width + a.t, most));
      const auto d = reference::attention_gradient(a.dout, a.x.q, a.x.k, a.x.v, ref.p, a.b, a.heads,
                                                   a.t, a.width);
      const auto bound = gradient_bounds(a, ref);
      // Where nothing is rounded in bf16 (one key), fp32 is left.
      const AttentionBounds fp32 = attention_bounds<float>(a.x, a.dout, ref, a.width);
      const auto with = [](Doubles values, double more) {
        for (double& value : values) value += more;
        return values;
      };
      CHECK(error_over_bound(dq.values(), d.q, with(bound.q, fp32.q)) <= 1);
      CHECK(error_over_bound(dk.values(), d.k, with(bound.k, fp32.k)) <= 1);
      CHECK(error_over_bound(dv.values(), d.v, with(bound.v, fp32.v)) <= 1);
    }
  }
}

TEST_CASE("bf16 activations of the MLP", "[bf16][swiglu][gelu]") {
  const Index n = 9, f = 1000;
  Random random(4);
  const Doubles gu = stored(random.normals(2 * n * f, 3.0)), dy = stored(random.normals(n * f));
  const ExecSpace space;
  const Device<Bf16> y(Doubles(n * f, not_a_number)), gu_d(gu), dy_d(dy);
  const Device<double> wide(gu), dy_wide(dy);
  swiglu::forward<Bf16>(space, gu_d.view(n, 2 * f), y.view(n, f));
  swiglu::backward<Bf16>(space, dy_d.view(n, f), gu_d.view(n, 2 * f));
  swiglu::backward<double>(space, dy_wide.view(n, f), wide.view(n, 2 * f));
  space.fence();
  const Doubles expected = reference::swiglu(gu, n, f);
  CHECK(error_over_bound(y.values(), expected, one_rounding(expected, smallest)) <= 1);
  // s (1 + g (1 - s)) cancels near its root: there fp32's sigmoid, sums and products are left.
  Doubles bound = one_rounding(wide.values(), smallest);
  for (Index row = 0; row < n; ++row) {
    for (Index i = 0; i < f; ++i) {
      const Index gate = row * 2 * f + i;
      const double terms = (1 + std::abs(gu[gate])) * std::abs(dy[row * f + i] * gu[gate + f]);
      bound[gate] += (sigmoid_error<float> + 3 * roundoff<float>)*terms;
    }
  }
  CHECK(error_over_bound(gu_d.values(), wide.values(), bound) <= 1);

  const Doubles x = stored(random.normals(n * f, 2.0));
  const Device<Bf16> x_d(x), gelu_y(Doubles(n * f, not_a_number));
  const Device<double> gradient(x);
  gelu::forward<Bf16>(space, x_d.view(n, f), gelu_y.view(n, f));
  gelu::backward<Bf16>(space, dy_d.view(n, f), x_d.view(n, f));
  gelu::backward<double>(space, dy_wide.view(n, f), gradient.view(n, f));
  space.fence();
  const Doubles of_gelu = reference::gelu(x);
  // Far left the argument of exp is large, so its rounding shows: 2e-5 relative.
  CHECK(error_over_bound(gelu_y.values(), of_gelu, one_rounding(of_gelu, smallest)) <= 1);
  // The gradient cancels near its root: fp32's s, off by 7 u, is left, and x s (1 - s) slope, which
  // is below 0.7 and off by 17 u and by 7 u of the exponent; with it below 2.
  Doubles gelu_bound = one_rounding(gradient.values());
  for (std::size_t i = 0; i < gelu_bound.size(); ++i) {
    gelu_bound[i] += (7 + 0.7 * 17 + 7 * 2) * roundoff<float> * std::abs(dy[i]);
  }
  CHECK(error_over_bound(x_d.values(), gradient.values(), gelu_bound) <= 1);
}

TEST_CASE("bf16 norms and rotary turns round their results once", "[bf16][rmsnorm][rope]") {
  const Index n = 65, c = 48;
  Random random(6);
  const Doubles x = rounded<float>(random.normals(n * c, 3.0)),
                delta = rounded<float>(random.normals(n * c)),
                w = rounded<float>(random.normals(c, 0.5, 1.0));
  const Device<float> x_d(x), delta_d(delta), w_d(w), rstd(n);
  const Device<Bf16> y(Doubles(n * c, not_a_number)), plain(Doubles(n * c, not_a_number));
  const ExecSpace space;
  rmsnorm::forward<float>(space, x_d.view(n, c), w_d.view(), 1e-5, plain.view(n, c), rstd.view());
  rmsnorm::forward_add<float>(space, x_d.view(n, c), delta_d.view(n, c), w_d.view(), 1e-5,
                              x_d.view(n, c), y.view(n, c), rstd.view());
  space.fence();
  const Doubles expected = reference::rmsnorm(x, w, n, c, 1e-5);
  CHECK(error_over_bound(plain.values(), expected, one_rounding(expected)) <= 1);
  const Doubles after = reference::rmsnorm(x_d.values(), w, n, c, 1e-5);
  CHECK(error_over_bound(y.values(), after, one_rounding(after)) <= 1);

  const Index b = 2, heads = 4, kv_heads = 2, t = 7, width = 6,
              columns = (heads + 2 * kv_heads) * width;
  const Doubles qkv = stored(random.normals(b * t * columns));
  const Device<float> cosine(t * width / 2), sine(t * width / 2);
  rope::fill_tables<float>(space, 1e4, cosine.view(t, width / 2), sine.view(t, width / 2));
  const Index size = b * heads * t * width;
  const Device<Bf16> from(qkv), q(size), k(size), v(size), out(Doubles(qkv.size(), not_a_number));
  const auto in = [&](const auto& a) { return a.view(b, heads, t, width); };
  rope::forward<Bf16>(space, Spans(), from.view(b * t, columns), cosine.view(t, width / 2),
                      sine.view(t, width / 2), heads, in(q), in(k), in(v));
  space.fence();
  const auto turned = reference::rope(qkv, b, heads, kv_heads, t, width, 1e4);
  // Where two terms cancel, one rounding of each factor, product and sum in fp32 is left.
  const double turn = 6 * roundoff<float>;
  CHECK(error_over_bound(q.values(), turned.q, one_rounding(turned.q, turn * largest(qkv))) <= 1);
  CHECK(error_over_bound(k.values(), turned.k, one_rounding(turned.k, turn * largest(qkv))) <= 1);
  CHECK(absolute_error(v.values(), turned.v) == 0);

  // Backward rounds sums over a group's heads once.
  const Doubles dq = random.normals(size), dk = random.normals(size), dv = random.normals(size);
  const Device<float> dq_f(dq), dk_f(dk), dv_f(dv);
  const Device<double> dq_d(dq_f.values()), dk_d(dk_f.values()), dv_d(dv_f.values()),
      cosine_d(cosine.values()), sine_d(sine.values()), wide(Doubles(qkv.size(), not_a_number));
  rope::backward<Bf16>(space, Spans(), in(dq_f), in(dk_f), in(dv_f), cosine.view(t, width / 2),
                       sine.view(t, width / 2), heads, out.view(b * t, columns));
  rope::backward<double>(space, Spans(), in(dq_d), in(dk_d), in(dv_d), cosine_d.view(t, width / 2),
                         sine_d.view(t, width / 2), heads, wide.view(b * t, columns));
  space.fence();
  const double most = double(heads / kv_heads) * std::max({largest(dq), largest(dk), largest(dv)});
  CHECK(error_over_bound(out.values(), wide.values(), one_rounding(wide.values(), turn * most)) <=
        1);
}

TEST_CASE("cross-entropy's gradient is rounded once, its loss not at all",
          "[bf16][cross_entropy]") {
  const Index rows = 4, v = 4097;
  Random random(8);
  const Doubles logits = rounded<float>(random.normals(rows * v, 2.0));
  const std::vector<TokenId> targets = random.tokens(rows, v);
  const auto expected = reference::cross_entropy(logits, targets, v, 0.25);
  const Device<float> logits_d(logits);
  const Device<TokenId> targets_d(targets);
  const Device<double> nll(Doubles(rows, not_a_number));
  const Device<Bf16> gradient(Doubles(rows * v, not_a_number));
  cross_entropy::loss_and_gradient<float>(ExecSpace(), logits_d.view(rows, v), targets_d.view(),
                                          0.25, nll.view(), gradient.view(rows, v));
  ExecSpace().fence();
  CHECK(absolute_error(nll.values(), expected.nll) <=
        rounding_of_sums<float>(v, std::max(largest(expected.nll), 1.0)));
  CHECK(error_over_bound(gradient.values(), expected.gradient,
                         one_rounding(expected.gradient, 1e-8)) <= 1);
}

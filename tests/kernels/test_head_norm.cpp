// QK-norm against plain loops in fp64, with rows over several blocks of partial sums; fp32 and bf16
// are held to the rounding of what they store.
#include <cmath>

#include "harness/catch.hpp"
#include "harness/reference.hpp"
#include "kernels/head_norm.hpp"

using namespace lexikos;
using namespace lexikos::test;

namespace {

constexpr double eps = 1e-5;
constexpr Index n_count = 130, heads = 4, kv_heads = 2, width = 6;
constexpr Index normed = heads + kv_heads, columns = normed * width + kv_heads * width;

struct Heads {
  Doubles qkv, d;  // [N, (H + 2 G) E] and the gradient of the norms in the same places
  Doubles query_gain, key_gain;  // [E]
};

Heads inputs() {
  Random random(3);
  Heads x{rounded<Bf16>(random.normals(n_count * columns)),
          rounded<Bf16>(random.normals(n_count * columns)), rounded<float>(random.normals(width)),
          rounded<float>(random.normals(width))};
  return x;
}

/// The loops of the definition.
struct Expected {
  Doubles y, dx, dquery_gain, dkey_gain;
};

Expected expected(const Heads& x) {
  Expected r{x.qkv, x.d, Doubles(width, 0.5), Doubles(width, -0.5)};
  for (Index n = 0; n < n_count; ++n) {
    for (Index h = 0; h < normed; ++h) {
      const Doubles& gain = h < heads ? x.query_gain : x.key_gain;
      Doubles& dgain = h < heads ? r.dquery_gain : r.dkey_gain;
      const double* const in = &x.qkv[n * columns + h * width];
      const double* const dy = &x.d[n * columns + h * width];
      double squares = 0, dot = 0;
      for (Index e = 0; e < width; ++e) squares += in[e] * in[e];
      const double rms = std::sqrt(squares / width + eps);
      for (Index e = 0; e < width; ++e) dot += dy[e] * gain[e] * in[e];
      for (Index e = 0; e < width; ++e) {
        const Index at = n * columns + h * width + e;
        r.y[at] = gain[e] * in[e] / rms;
        r.dx[at] = dy[e] * gain[e] / rms - in[e] * dot / (width * rms * rms * rms);
        dgain[e] += dy[e] * in[e] / rms;
      }
    }
  }
  return r;
}

template <class A>
Expected found(const Heads& x) {
  using W = Wide<A>;
  const Device<A> qkv(x.qkv), d(x.d), raw(n_count * normed * width);
  const Device<W> rstd(n_count * normed), query_gain(x.query_gain), key_gain(x.key_gain),
      dquery_gain(Doubles(width, 0.5)), dkey_gain(Doubles(width, -0.5)),
      partial(Doubles(head_norm::partial_rows(n_count) * 2 * width, not_a_number));
  const ExecSpace space;
  head_norm::forward<A>(space, eps, heads, query_gain.view(), key_gain.view(),
                        qkv.view(n_count, columns), raw.view(n_count, normed * width),
                        rstd.view(n_count, normed));
  head_norm::backward<A>(space, heads, raw.view(n_count, normed * width),
                         rstd.view(n_count, normed), query_gain.view(), key_gain.view(),
                         d.view(n_count, columns), dquery_gain.view(), dkey_gain.view(),
                         partial.view(head_norm::partial_rows(n_count), 2 * width));
  space.fence();
  return {qkv.values(), d.values(), dquery_gain.values(), dkey_gain.values()};
}

/// Every result within its roundings, relative to the largest value: a product of four factors, of
/// which 1 / rms carries (E / 2 + 3) u, and sums of N H terms, here and in the reference. What is
/// stored in bf16 is rounded once more.
template <class A>
void check() {
  constexpr double units = roundoff<Wide<A>> + roundoff<double>;
  constexpr double stored = (width + 8) * units + (std::is_same_v<A, Bf16> ? roundoff<Bf16> : 0);
  constexpr double sums = (double(n_count * heads) + width + 8) * units;
  const Heads x = inputs();
  const Expected e = expected(x), f = found<A>(x);
  CHECK(relative_error(f.y, e.y) < stored);
  CHECK(relative_error(f.dx, e.dx) < stored);
  CHECK(relative_error(f.dquery_gain, e.dquery_gain) < sums);
  CHECK(relative_error(f.dkey_gain, e.dkey_gain) < sums);
}

}  // namespace

TEST_CASE("heads of queries and keys are normalised, those of values stay", "[head_norm]") {
  check<double>();
  check<float>();
  check<Bf16>();
}

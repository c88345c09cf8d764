// Causal attention, tile edges included, within what harness/attention_bounds.hpp derives.
#include "harness/attention_bounds.hpp"
#include "harness/catch.hpp"

using namespace lexikos;
using namespace lexikos::test;
using reference::HeadArrays;

namespace {

struct Shape {
  Index b, heads, t, width;
  Index size() const { return b * heads * t * width; }
};

// tile = 128: below, on, one above, more than two; one head; one sequence; narrow heads.
const Shape shapes[] = {{1, 1, 1, 2},   {3, 2, 1, 6},   {2, 3, 5, 6},   {1, 2, 127, 6},
                        {1, 2, 128, 6}, {1, 1, 129, 2}, {2, 1, 256, 2}, {1, 2, 300, 6}};

template <class S>
struct Run {
  Shape z;
  Spans spans;
  Device<S> q, k, v, o, lse;

  Run(const HeadArrays& x, const Shape& shape, const Spans& seen = {})
      : z(shape),
        spans(seen),
        q(x.q),
        k(x.k),
        v(x.v),
        o(Doubles(z.size(), not_a_number)),
        lse(Doubles(z.b * z.heads * z.t, not_a_number)) {
    const Device<S> workspace(
        Doubles(attention::forward_workspace<S>(z.b * z.heads, z.t, z.width), not_a_number));
    const ExecSpace space;
    attention::forward<S>(space, spans, heads(q), heads(k), heads(v), merged(o),
                          lse.view(z.b, z.heads, z.t), workspace.view());
    space.fence();
  }

  HeadArrays backward(const Doubles& dout) const {
    const Device<S> dout_d(dout), dq(Doubles(z.size(), not_a_number)),
        dk(Doubles(z.size(), not_a_number)), dv(Doubles(z.size(), not_a_number)),
        workspace(
            Doubles(attention::backward_workspace<S>(z.b * z.heads, z.t, z.width), not_a_number));
    const ExecSpace space;
    attention::backward<S>(space, spans, merged(dout_d), heads(q), heads(k), heads(v), merged(o),
                           lse.view(z.b, z.heads, z.t), heads(dq), heads(dk), heads(dv),
                           workspace.view());
    space.fence();
    return {dq.values(), dk.values(), dv.values()};
  }

  View4<S> heads(const Device<S>& x) const { return x.view(z.b, z.heads, z.t, z.width); }
  View2<S> merged(const Device<S>& x) const { return x.view(z.b * z.t, z.heads * z.width); }
};

HeadArrays inputs(const Shape& z, double size = 1.0) {
  Random random(z.t * 100 + z.width);
  return {rounded<float>(random.normals(z.size(), size)),
          rounded<float>(random.normals(z.size(), size)), rounded<float>(random.normals(z.size()))};
}

Doubles all(const HeadArrays& x) {
  Doubles joined = x.q;
  joined.insert(joined.end(), x.k.begin(), x.k.end());
  joined.insert(joined.end(), x.v.begin(), x.v.end());
  return joined;
}

HeadArrays apart(const Doubles& joined) {
  const auto third = static_cast<std::ptrdiff_t>(joined.size() / 3);
  const auto begin = joined.begin();
  return {{begin, begin + third},
          {begin + third, begin + 2 * third},
          {begin + 2 * third, joined.end()}};
}

}  // namespace

TEMPLATE_TEST_CASE("attention and its gradients agree with softmax over all pairs", "[attention]",
                   float, double) {
  using S = TestType;
  for (const Shape& z : shapes) {
    CAPTURE(z.b, z.heads, z.t, z.width);
    const HeadArrays x = inputs(z);
    Random random(z.t);
    const Doubles dout = rounded<float>(random.normals(z.size()));
    const auto forward = reference::attention(x.q, x.k, x.v, z.b, z.heads, z.t, z.width);
    const HeadArrays expected =
        reference::attention_gradient(dout, x.q, x.k, x.v, forward.p, z.b, z.heads, z.t, z.width);
    const AttentionBounds bounds = attention_bounds<S>(x, dout, forward, z.width);
    const Run<S> run(x, z);
    CHECK(absolute_error(run.o.values(), forward.o) < bounds.o);
    CHECK(absolute_error(run.lse.values(), forward.lse) < bounds.lse);
    const HeadArrays found = run.backward(dout);
    CHECK(absolute_error(found.q, expected.q) < bounds.q);
    CHECK(absolute_error(found.k, expected.k) < bounds.k);
    CHECK(absolute_error(found.v, expected.v) < bounds.v);
  }
}

TEST_CASE("attention's gradients agree with differences", "[attention][gradient]") {
  for (const Shape& z : {Shape{1, 1, 2, 2}, Shape{2, 3, 5, 6}, Shape{1, 1, 129, 2}}) {
    CAPTURE(z.b, z.heads, z.t, z.width);
    const HeadArrays x = inputs(z);
    Random random(z.t);
    const Doubles dout = random.normals(z.size());
    const Function value = [&](const Doubles& at) {
      return dot(dout, Run<double>(apart(at), z).o.values());
    };
    CHECK(gradient_error(value, all(x), all(Run<double>(x, z).backward(dout)), 1e-3, 6) <
          gradient_tolerance);
  }
}

TEMPLATE_TEST_CASE("attention: nothing flows from the future to the past", "[attention]", float,
                   double) {
  using S = TestType;
  for (const Shape& z : {Shape{2, 2, 9, 6}, Shape{1, 2, 129, 2}, Shape{1, 1, 300, 6}}) {
    for (const Index changed : {Index{1}, z.t / 2, Index{127}, Index{128}, z.t - 1}) {
      if (changed >= z.t) continue;
      CAPTURE(z.t, changed);
      const HeadArrays x = inputs(z);
      HeadArrays other = x;
      Random random(8);
      for (Index g = 0; g < z.b * z.heads; ++g) {
        for (Index i = (g * z.t + changed) * z.width; i < (g + 1) * z.t * z.width; ++i) {
          other.q[i] = 3 * random.normal();
          other.k[i] = 3 * random.normal();
          other.v[i] = 3 * random.normal();
        }
      }
      const Run<S> run(x, z), run_other(other, z);
      const Doubles o = run.o.values(), o_other = run_other.o.values();
      Doubles dout(z.size(), 0.0);  // a loss that sees the past only
      double past = 0, future = 0;
      for (Index n = 0; n < z.b * z.t; ++n) {
        for (Index c = 0; c < z.heads * z.width; ++c) {
          const Index i = n * z.heads * z.width + c;
          double& side = n % z.t < changed ? past : future;
          side = std::max(side, std::abs(o[i] - o_other[i]));
          if (n % z.t < changed) dout[i] = random.normal();
        }
      }
      CHECK(past == 0);
      CHECK(future > 0);
      const HeadArrays d = run.backward(dout);
      double leaked = 0;
      for (Index g = 0; g < z.b * z.heads; ++g) {
        for (Index i = (g * z.t + changed) * z.width; i < (g + 1) * z.t * z.width; ++i) {
          leaked = std::max({leaked, std::abs(d.q[i]), std::abs(d.k[i]), std::abs(d.v[i])});
        }
      }
      CHECK(leaked == 0);
    }
  }
}

TEMPLATE_TEST_CASE("attention: logits of +-1e4 do not overflow", "[attention]", float, double) {
  using S = TestType;
  // Whole numbers and a scale of 1/2: logits are exact in fp32, so that the softmax alone is
  // tested.
  for (const Index t : {6, 129, 300}) {
    const Shape z{1, 2, t, 4};
    CAPTURE(t);
    HeadArrays x = inputs(z);
    Random random(t);
    for (double& value : x.q) value = double(random.below(201) - 100);
    for (double& value : x.k) value = double(random.below(201) - 100);
    // The first keys' logits are -1e4, then +1e4, then both signs mixed.
    for (Index e = 0; e < z.width; ++e) {
      for (Index g = 0; g < z.heads; ++g) {
        for (Index i = 0; i < t; ++i) x.q[(g * t + i) * z.width + e] = i % 2 == 0 ? 71 : -71;
        for (const Index i : {Index{0}, t / 2, t - 2}) {
          x.k[(g * t + i) * z.width + e] = -71;
          x.k[(g * t + i + 1) * z.width + e] = 71;
        }
      }
    }
    const auto expected = reference::attention(x.q, x.k, x.v, z.b, z.heads, z.t, z.width);
    CHECK(largest(expected.lse) > 1e4);
    const Run<S> run(x, z);
    const double tolerance = 2 * exp_error<S> + (8 + 2 * double(t)) * roundoff<S>;
    CHECK(absolute_error(run.o.values(), expected.o) < tolerance * largest(x.v));
    CHECK(relative_error(run.lse.values(), expected.lse) < 4 * roundoff<S>);

    const Doubles dout = rounded<S>(random.normals(z.size()));
    const HeadArrays d = run.backward(dout);
    const HeadArrays d_expected =
        reference::attention_gradient(dout, x.q, x.k, x.v, expected.p, z.b, z.heads, z.t, z.width);
    // lse is of order 1e4, and its rounding is the relative error of every weight.
    const double weight = exp_error<S> + 2 * largest(expected.lse) * roundoff<S>;
    const double dp = largest(dout) * largest(x.v) * double(z.width);
    CHECK(absolute_error(d.q, d_expected.q) < 4 * weight * dp * 100);
    CHECK(absolute_error(d.k, d_expected.k) < 4 * weight * dp * 100 * double(t));
    CHECK(absolute_error(d.v, d_expected.v) < 4 * weight * largest(dout) * double(t));
  }
}

TEST_CASE("attention: equal keys give the mean of the values seen", "[attention]") {
  const Shape z{1, 1, 150, 2};
  HeadArrays x = inputs(z);
  std::fill(x.k.begin(), x.k.end(), 0.25);
  const Doubles o = Run<double>(x, z).o.values();
  const double limit = rounding_of_sums<double>(z.t, largest(x.v));
  Doubles mean(z.width, 0.0);
  for (Index i = 0; i < z.t; ++i) {
    for (Index e = 0; e < z.width; ++e) {
      mean[e] += x.v[i * z.width + e];
      CHECK(std::abs(o[i * z.width + e] - mean[e] / double(i + 1)) < limit);
    }
  }
}

TEST_CASE("attention refuses a workspace that is too small", "[attention]") {
  const Shape z{1, 2, 5, 4};
  const Device<double> x(z.size()), lse(z.heads * z.t),
      small(attention::forward_workspace<double>(2, z.t, z.width) - 1);
  const auto v = x.view(z.b, z.heads, z.t, z.width);
  CHECK_THROWS(attention::forward<double>(ExecSpace(), Spans(), v, v, v, x.view(z.t, 8),
                                          lse.view(1, 2, z.t), small.view()));
}

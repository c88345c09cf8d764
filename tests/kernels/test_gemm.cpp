// Matrix products of every library: all four transpose combinations against triple loops.
//
// Tolerance, element by element: rounding_of_sums of k terms and |alpha| sum |a b| + |beta c|.
#include <string>

#include "harness/catch.hpp"
#include "harness/reference.hpp"
#include "kernels/gemm/gemm.hpp"
#include "utils/error.hpp"

using namespace lexikos;
using namespace lexikos::test;

namespace {

/// Chooses a library as long as it lives.
template <class S>
class Using {
 public:
  explicit Using(GemmLibrary library) : before_(gemm_library<S>()) { use_gemm_library<S>(library); }
  ~Using() { use_gemm_library<S>(before_); }

 private:
  GemmLibrary before_;
};

/// Every library that this build has for S.
template <class S>
std::vector<GemmLibrary> libraries() {
  std::vector<GemmLibrary> all;
  const GemmLibrary before = gemm_library<S>();
  for (const GemmLibrary library :
       {before, GemmLibrary::onednn, GemmLibrary::kokkos_kernels, GemmLibrary::loops}) {
    if (std::find(all.begin(), all.end(), library) != all.end()) continue;
    try {
      use_gemm_library<S>(library);
      all.push_back(library);
    } catch (const Error& error) {
      CHECK(error.status() == Status::resource);
    }
  }
  use_gemm_library<S>(before);
  return all;
}

struct Shape {
  Index m, n, k;
};

const Shape shapes[] = {{1, 1, 1},    {1, 7, 5},    {13, 1, 3},   {5, 3, 1},   {33, 17, 65},
                        {7, 129, 31}, {64, 48, 40}, {19, 5, 257}, {2, 1000, 9}};

struct Factors {
  double alpha, beta;
};

const Factors factors[] = {{1, 0}, {1, 1}, {-0.75, 0}, {0.5, -1.25}};

template <class S>
Doubles bounds(const Doubles& magnitude, Index k) {
  Doubles bound = magnitude;
  for (double& value : bound) value = rounding_of_sums<S>(k, value);
  return bound;
}

}  // namespace

TEMPLATE_TEST_CASE("gemm agrees with triple loops", "[gemm]", float, double) {
  using S = TestType;
  double worst = 0;
  for (const GemmLibrary library : libraries<S>()) {
    const Using<S> use(library);
    INFO(gemm_library_name<S>());
    for (const Shape& s : shapes) {
      for (const bool ta : {false, true}) {
        for (const bool tb : {false, true}) {
          for (const Factors& f : factors) {
            Random random(s.m * 10007 + s.n * 101 + s.k);
            const Doubles a = rounded<S>(random.normals(s.m * s.k));
            const Doubles b = rounded<S>(random.normals(s.k * s.n));
            // What C holds must not matter where it is overwritten.
            const Doubles c = f.beta == 0 ? Doubles(s.m * s.n, not_a_number)
                                          : rounded<S>(random.normals(s.m * s.n));
            const auto expected =
                reference::gemm(ta, tb, s.m, s.n, s.k, f.alpha, a.data(), b.data(), f.beta, c);
            const Device<S> a_d(a), b_d(b), c_d(c);
            const ExecSpace space;
            gemm<S>(space, ta ? Op::transpose : Op::none, tb ? Op::transpose : Op::none, S(f.alpha),
                    ta ? a_d.view(s.k, s.m) : a_d.view(s.m, s.k),
                    tb ? b_d.view(s.n, s.k) : b_d.view(s.k, s.n), S(f.beta), c_d.view(s.m, s.n));
            space.fence();
            const double error =
                error_over_bound(c_d.values(), expected.value, bounds<S>(expected.magnitude, s.k));
            CAPTURE(s.m, s.n, s.k, ta, tb, f.alpha, f.beta);
            CHECK(error <= 1);
            worst = std::max(worst, error);
          }
        }
      }
    }
  }
  CHECK(worst < 1);
  INFO("largest error over its bound: " << worst);
  SUCCEED();
}

TEMPLATE_TEST_CASE("gemm_batched agrees with triple loops and leaves gaps alone", "[gemm]", float,
                   double) {
  using S = TestType;
  for (const GemmLibrary library : libraries<S>()) {
    const Using<S> use(library);
    INFO(gemm_library_name<S>());
    for (const Shape& s : {Shape{1, 1, 1}, Shape{5, 7, 3}, Shape{33, 2, 17}, Shape{16, 40, 65}}) {
      for (const bool ta : {false, true}) {
        for (const bool tb : {false, true}) {
          for (const Factors& f : factors) {
            for (const Index count : {1, 5}) {
              Random random(s.m + 31 * s.n + 977 * s.k + count);
              const Index stride_a = s.m * s.k + 3, stride_b = s.k * s.n + 16,
                          stride_c = s.m * s.n + 5;
              const Doubles a = rounded<S>(random.normals(count * stride_a));
              const Doubles b = rounded<S>(random.normals(count * stride_b));
              Doubles c = rounded<S>(random.normals(count * stride_c));
              Doubles expected = c, bound(c.size(), 0.0);  // nothing may change in the gaps
              for (Index g = 0; g < count; ++g) {
                double* const c_g = &c[g * stride_c];
                if (f.beta == 0) std::fill_n(c_g, s.m * s.n, not_a_number);
                const auto product =
                    reference::gemm(ta, tb, s.m, s.n, s.k, f.alpha, &a[g * stride_a],
                                    &b[g * stride_b], f.beta, Doubles(c_g, c_g + s.m * s.n));
                const Doubles bound_g = bounds<S>(product.magnitude, s.k);
                std::copy(product.value.begin(), product.value.end(), &expected[g * stride_c]);
                std::copy(bound_g.begin(), bound_g.end(), &bound[g * stride_c]);
              }
              const Device<S> a_d(a), b_d(b), c_d(c);
              const MatrixBatch<const S> a_batch{a_d.data(), ta ? s.k : s.m, ta ? s.m : s.k,
                                                 stride_a};
              const MatrixBatch<const S> b_batch{b_d.data(), tb ? s.n : s.k, tb ? s.k : s.n,
                                                 stride_b};
              const ExecSpace space;
              gemm_batched<S>(space, ta ? Op::transpose : Op::none, tb ? Op::transpose : Op::none,
                              count, S(f.alpha), a_batch, b_batch, S(f.beta),
                              {c_d.data(), s.m, s.n, stride_c});
              space.fence();
              CAPTURE(s.m, s.n, s.k, ta, tb, f.alpha, f.beta, count);
              CHECK(error_over_bound(c_d.values(), expected, bound) <= 1);
            }
          }
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("gemm of nothing", "[gemm]", float, double) {
  using S = TestType;
  for (const GemmLibrary library : libraries<S>()) {
    const Using<S> use(library);
    INFO(gemm_library_name<S>());
    const Device<S> a(Doubles(12, 1.0)), c(Doubles(12, 2.0));
    const ExecSpace space;
    gemm<S>(space, Op::none, Op::none, S(1), a.view(0, 3), a.view(3, 4), S(0), c.view(0, 4));
    gemm<S>(space, Op::none, Op::none, S(1), a.view(4, 3), a.view(3, 0), S(0), c.view(4, 0));
    gemm_batched<S>(space, Op::none, Op::none, 0, S(1), {a.data(), 2, 3, 6}, {a.data(), 3, 2, 6},
                    S(0), {c.data(), 2, 2, 4});
    space.fence();
    CHECK(absolute_error(c.values(), Doubles(12, 2.0)) == 0);
  }
}

TEST_CASE("gemm names every extent of shapes that do not fit", "[gemm]") {
  const Device<double> memory(1000);
  const auto message = [&](auto call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      CHECK(error.status() == Status::resource);
      return error.what();
    }
    return "";
  };
  const ExecSpace space;
  const std::string plain = message([&] {
    gemm<double>(space, Op::none, Op::transpose, 1.0, memory.view(2, 3), memory.view(5, 7), 0.0,
                 memory.view(2, 5));
  });
  CHECK(plain.find("[2 3]") != std::string::npos);
  CHECK(plain.find("[5 7]^T") != std::string::npos);
  CHECK(plain.find("C [2 5]") != std::string::npos);
  // Right inner extent, and C that has a wrong number of rows, of columns, or both.
  for (const auto& [rows, cols] : {std::pair{3, 4}, std::pair{2, 5}, std::pair{4, 2}}) {
    CAPTURE(rows, cols);
    CHECK(message([&, r = rows, c = cols] {
            gemm<double>(space, Op::none, Op::none, 1.0, memory.view(2, 3), memory.view(3, 4), 0.0,
                         memory.view(r, c));
          }) != "");
  }
  CHECK(message([&] {
          gemm_batched<double>(space, Op::transpose, Op::none, 2, 1.0, {memory.data(), 2, 3, 6},
                               {memory.data(), 3, 4, 12}, 0.0, {memory.data(), 3, 4, 12});
        }) != "");
}

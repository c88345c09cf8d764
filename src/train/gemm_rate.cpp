#include "train/gemm_rate.hpp"

#include <algorithm>
#include <limits>

namespace lexikos {
namespace {

/// Largest element count of A, B and C over the products.
Index largest(const std::vector<StepProduct>& products) {
  Index size = 1;
  for (const StepProduct& p : products) size = std::max({size, p.m * p.k, p.k * p.n, p.m * p.n});
  return size;
}

double flops(const StepProduct& p) { return 2.0 * p.m * p.n * p.k; }

template <class S>
double seconds_once(const StepProduct& p, S* a, S* b, S* c) {
  const ExecSpace space;
  const bool at = p.op_a == Op::transpose, bt = p.op_b == Op::transpose;
  const View2<const S> va(a, at ? p.k : p.m, at ? p.m : p.k);
  const View2<const S> vb(b, bt ? p.n : p.k, bt ? p.k : p.n);
  const View2<S> vc(c, p.m, p.n);
  const Kokkos::Timer timer;
  gemm<S>(space, p.op_a, p.op_b, 1, va, vb, 0, vc);
  space.fence();
  return timer.seconds();
}

/// Seconds of one product: the fastest of several, because a bound must not suffer from what else
/// the machine is doing.
template <class S>
double fastest_seconds(const StepProduct& p, S* a, S* b, S* c) {
  double fastest = std::numeric_limits<double>::infinity(), total = 0;
  for (int i = 0; i < 50 && (i < 4 || total < 0.15); ++i) {
    const double seconds = seconds_once(p, a, b, c);
    if (i > 0) fastest = std::min(fastest, seconds);  // the first call compiles the primitive
    total += seconds;
  }
  return fastest;
}

}  // namespace

std::vector<StepProduct> step_products(const transformer::Settings& t, Index vocabulary,
                                       Index chunk, Index n) {
  const Index c = t.width, f = t.mlp_width, up = t.mlp_inputs() * f;
  const Index rows = std::min(chunk, n);
  std::vector<StepProduct> products;
  // y [rows out] = x W^T forward, dx = dy W and dW = dy^T x backward.
  const auto layer = [&](Index positions, Index out, Index in, double count) {
    products.push_back({Op::none, Op::transpose, positions, out, in, count});
    products.push_back({Op::none, Op::none, positions, in, out, count});
    products.push_back({Op::transpose, Op::none, out, in, positions, count});
  };
  const double layers = static_cast<double>(t.layers);
  layer(n, t.qkv_width(), c, layers);
  layer(n, c, c, layers);
  layer(n, up, c, layers);
  layer(n, c, f, layers);
  layer(rows, vocabulary, c, static_cast<double>(n) / static_cast<double>(rows));
  return products;
}

template <class S>
GemmRate measure_gemm_rate(const std::vector<StepProduct>& products) {
  const Index edge = 2048;
  std::vector<StepProduct> all = products;
  all.push_back({Op::none, Op::none, edge, edge, edge, 1});
  const Index size = largest(all);
  Buffer<S> a("Lexikos::gemm_rate::a", size), b("Lexikos::gemm_rate::b", size),
      c("Lexikos::gemm_rate::c", size);
  Kokkos::deep_copy(a, S(0.5));
  Kokkos::deep_copy(b, S(0.25));
  GemmRate rate;
  rate.square = flops(all.back()) / fastest_seconds(all.back(), a.data(), b.data(), c.data());
  double work = 0, seconds = 0;
  for (const StepProduct& p : products) {
    work += p.count * flops(p);
    seconds += p.count * fastest_seconds(p, a.data(), b.data(), c.data());
  }
  rate.step = seconds > 0 ? work / seconds : 0;
  return rate;
}

template <class S>
GemmProbe<S>::GemmProbe(std::vector<StepProduct> products)
    : products_(std::move(products)),
      a_("Lexikos::gemm_probe::a", largest(products_)),
      b_("Lexikos::gemm_probe::b", largest(products_)),
      c_("Lexikos::gemm_probe::c", largest(products_)) {
  Kokkos::deep_copy(a_, S(0.5));
  Kokkos::deep_copy(b_, S(0.25));
}

template <class S>
double GemmProbe<S>::pass() {
  double work = 0, seconds = 0;
  for (const StepProduct& p : products_) {
    work += p.count * flops(p);
    seconds += p.count * seconds_once(p, a_.data(), b_.data(), c_.data());
  }
  return work / seconds;
}

template class GemmProbe<float>;
template class GemmProbe<double>;
template GemmRate measure_gemm_rate<float>(const std::vector<StepProduct>&);
template GemmRate measure_gemm_rate<double>(const std::vector<StepProduct>&);
template class GemmProbe<Bf16>;
template GemmRate measure_gemm_rate<Bf16>(const std::vector<StepProduct>&);

}  // namespace lexikos

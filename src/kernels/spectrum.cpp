#include "kernels/spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "utils/error.hpp"
#include "utils/finite.hpp"

namespace lexikos {
namespace {

using Host = Kokkos::DefaultHostExecutionSpace;
using HostRange = Kokkos::RangePolicy<Host, Kokkos::IndexType<Index>>;

constexpr Index panel_width = 32;  // reflections between two updates of the matrix
// Of a column, in a matrix of elements of about 1: what is below counts as 0. Its square and one
// over that are finite, which those of a nearly dependent column of rounding errors are not.
constexpr double shortest = 0x1p-200;

/// A symmetric matrix of elements of about 1 while it is being reduced. The reflections v of a
/// panel and their partners w are kept aside, so that the matrix is read once a column and written
/// once a panel: the current matrix is A - sum over the panel (v w^T + w v^T).
class Reduction {
 public:
  Reduction(double* matrix, Index n)
      : a_(matrix), n_(n), v_(panel_width * n), w_(panel_width * n), diagonal_(n), beside_(n) {}

  void run() {
    for (Index column = 0; column < n_; ++column) {
      reduce(column);
      if (held_ == panel_width) update_matrix(column + 1);
    }
  }

  std::vector<double>& diagonal() { return diagonal_; }
  /// beside()[i] stands between diagonal elements i and i + 1.
  std::vector<double>& beside() { return beside_; }

 private:
  double* v(Index k) { return v_.data() + k * n_; }
  double* w(Index k) { return w_.data() + k * n_; }

  /// One column: its diagonal element, and the reflection that clears it below the next.
  void reduce(Index column) {
    double* x = v(held_);
    const double* row = a_ + column * n_;  // the row is the column
    for (Index i = column; i < n_; ++i) x[i] = row[i];
    for (Index k = 0; k < held_; ++k) {
      const double *vk = v(k), *wk = w(k);
      const double vc = vk[column], wc = wk[column];
      LEXIKOS_SIMD
      for (Index i = column; i < n_; ++i) x[i] -= vc * wk[i] + wc * vk[i];
    }
    diagonal_[column] = x[column];
    const Index first = column + 1;
    if (first >= n_) return;
    const double length = norm(x, first);
    if (length < shortest) return;  // nothing to clear
    const double lead = x[first];
    const double image = lead > 0 ? -length : length;
    beside_[column] = image;
    x[first] = lead - image;
    // H = I - tau x x^T with tau = 2 / |x|^2, and |x|^2 = 2 length (length + |lead|).
    make_partner(x, first, 1.0 / (length * (length + std::abs(lead))));
    ++held_;
  }

  double norm(const double* x, Index first) const {
    double most = 0;
    for (Index i = first; i < n_; ++i) most = std::max(most, std::abs(x[i]));
    if (most == 0) return 0;
    double sum = 0;
    for (Index i = first; i < n_; ++i) sum += x[i] / most * (x[i] / most);
    return most * std::sqrt(sum);
  }

  double dot(const double* x, const double* y, Index first) const {
    double sum = 0;
    LEXIKOS_SIMD_SUM(sum)
    for (Index i = first; i < n_; ++i) sum += x[i] * y[i];
    return sum;
  }

  /// w = p - (tau / 2) (p . x) x with p = tau (current matrix) x: H A H = A - x w^T - w x^T.
  void make_partner(const double* x, Index first, double tau) {
    double* p = w(held_);
    multiply(x, first, p);
    for (Index k = 0; k < held_; ++k) {
      const double *vk = v(k), *wk = w(k);
      const double along_w = dot(wk, x, first), along_v = dot(vk, x, first);
      LEXIKOS_SIMD
      for (Index i = first; i < n_; ++i) p[i] -= along_w * vk[i] + along_v * wk[i];
    }
    for (Index i = first; i < n_; ++i) p[i] *= tau;
    const double half = 0.5 * tau * dot(p, x, first);
    for (Index i = first; i < n_; ++i) p[i] -= half * x[i];
  }

  /// p = A x over rows and columns from `first`.
  void multiply(const double* x, Index first, double* p) const {
    const double* a = a_;
    const Index n = n_;
    Kokkos::parallel_for("Lexikos::spectrum::multiply", HostRange(first, n), [=](const Index i) {
      const double* row = a + i * n;
      double sum = 0;
      LEXIKOS_SIMD_SUM(sum)
      for (Index j = first; j < n; ++j) sum += row[j] * x[j];
      p[i] = sum;
    });
    Host().fence();
  }

  /// A -= sum over the panel (v w^T + w v^T), rows and columns from `first`.
  void update_matrix(Index first) {
    double* a = a_;
    const Index n = n_, held = held_;
    const double *v = v_.data(), *w = w_.data();
    Kokkos::parallel_for("Lexikos::spectrum::update", HostRange(first, n), [=](const Index i) {
      double* row = a + i * n;
      for (Index k = 0; k < held; ++k) {
        const double *vk = v + k * n, *wk = w + k * n;
        const double vi = vk[i], wi = wk[i];
        LEXIKOS_SIMD
        for (Index j = first; j < n; ++j) row[j] -= vi * wk[j] + wi * vk[j];
      }
    });
    Host().fence();
    held_ = 0;
  }

  double* a_;
  Index n_, held_ = 0;
  std::vector<double> v_, w_, diagonal_, beside_;
};

/// Eigenvalues of a tridiagonal matrix by QL steps with Wilkinson's shift, left in `d`; `e` is
/// destroyed (e[i] beside d[i] and d[i + 1]).
void ql_iterations(std::vector<double>& d, std::vector<double>& e) {
  const Index n = static_cast<Index>(d.size());
  constexpr double unit = std::numeric_limits<double>::epsilon();
  double scale = 0;
  for (const double x : d) scale = std::max(scale, std::abs(x));
  for (const double x : e) scale = std::max(scale, std::abs(x));
  // Against the whole matrix: in a cluster of zeros an element is never small for its neighbours.
  const auto negligible = [&](Index i) { return std::abs(e[i]) <= unit * scale; };
  for (Index low = 0; low < n; ++low) {
    for (int step = 0;; ++step) {
      Index high = low;
      while (high + 1 < n && !negligible(high)) ++high;
      if (high == low) break;
      if (step == 60) fail(Status::numerical, "spectrum: QL does not converge");
      const double half = (d[low + 1] - d[low]) / (2 * e[low]);
      const double root = std::hypot(half, 1.0);
      double g = d[high] - d[low] + e[low] / (half + std::copysign(root, half));
      double s = 1, c = 1, p = 0;
      Index i = high - 1;
      for (; i >= low; --i) {
        const double f = s * e[i], b = c * e[i];
        const double r = std::hypot(f, g);
        e[i + 1] = r;
        if (r == 0) break;
        s = f / r;
        c = g / r;
        const double q = d[i + 1] - p;
        const double t = (d[i] - q) * s + 2 * c * b;
        p = s * t;
        d[i + 1] = q + p;
        g = c * t - b;
      }
      if (i >= low) {  // split in the middle of a sweep
        d[i + 1] -= p;
        e[high] = 0;
        continue;
      }
      d[low] -= p;
      e[low] = g;
      e[high] = 0;
    }
  }
}

}  // namespace

std::vector<double> symmetric_eigenvalues(double* matrix, Index n) {
  if (first_not_finite(matrix, n * n) >= 0) {
    fail(Status::numerical, "spectrum: the matrix has elements that are not finite");
  }
  double largest = 0;
  for (Index i = 0; i < n * n; ++i) largest = std::max(largest, std::abs(matrix[i]));
  if (largest == 0) return std::vector<double>(static_cast<std::size_t>(n), 0.0);
  // Elements of about 1, whose products neither overflow nor vanish.
  const int exponent = std::ilogb(largest);
  for (Index i = 0; i < n * n; ++i) matrix[i] = std::ldexp(matrix[i], -exponent);
  Reduction reduction(matrix, n);
  reduction.run();
  std::vector<double> values = std::move(reduction.diagonal());
  ql_iterations(values, reduction.beside());
  for (double& x : values) x = std::ldexp(x, exponent);
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace lexikos

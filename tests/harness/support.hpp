// What the operator tests share: random inputs, device arrays filled from the host, error measures,
// and derivatives by differences.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "kokkos_types.hpp"

namespace lexikos::test {

using Doubles = std::vector<double>;

/// Unit roundoff of S: half the distance from 1 to the next number.
template <class S>
inline constexpr double roundoff = static_cast<double>(std::numeric_limits<S>::epsilon()) / 2;

template <>
inline constexpr double roundoff<Bf16> = 0x1p-8;

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Steele, Lea and Flood's splitmix64: nothing of the code under test draws the inputs.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// In [0, 1).
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }
  Index below(Index n) { return static_cast<Index>(bits() % static_cast<std::uint64_t>(n)); }
  double normal() {
    return std::sqrt(-2.0 * std::log(1.0 - uniform())) * std::cos(6.283185307179586 * uniform());
  }
  Doubles normals(Index n, double deviation = 1.0, double mean = 0.0) {
    Doubles values(n);
    for (double& value : values) value = mean + deviation * normal();
    return values;
  }
  std::vector<TokenId> tokens(Index n, Index vocabulary) {
    std::vector<TokenId> ids(n);
    for (TokenId& id : ids) id = static_cast<TokenId>(below(vocabulary));
    return ids;
  }

 private:
  std::uint64_t state_;
};

/// The values as S stores them, so that both precisions start from the same numbers.
template <class S>
Doubles rounded(Doubles values) {
  for (double& value : values) value = static_cast<double>(static_cast<S>(value));
  return values;
}

/// A copy in host memory.
template <class View>
auto to_host(const View& view) {
  using T = typename View::non_const_value_type;
  const Index count = static_cast<Index>(view.size());
  std::vector<T> values(count);
  if (count == 0) return values;
  const HostBuffer<T> host("test::host", count);
  Kokkos::deep_copy(host, View1<const T>(view.data(), count));
  std::copy_n(host.data(), count, values.begin());
  return values;
}

inline Doubles doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }
inline Doubles doubles(const std::vector<Bf16>& values) {
  Doubles wide(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) wide[i] = static_cast<float>(values[i]);
  return wide;
}
inline Doubles doubles(const Doubles& values) { return values; }

/// Overwrites a window with host values.
template <class T, class U>
void set(const View1<T>& view, const std::vector<U>& values) {
  if (values.empty()) return;
  const HostBuffer<T> host("test::host", values.size());
  for (std::size_t i = 0; i < values.size(); ++i) host.data()[i] = static_cast<T>(values[i]);
  Kokkos::deep_copy(view, host);
}

/// An array in device memory; its windows have whatever shape a kernel asks for.
template <class T>
class Device {
 public:
  explicit Device(Index count) : memory_("test::device", count) {}
  template <class U>
  explicit Device(const std::vector<U>& values) : Device(static_cast<Index>(values.size())) {
    set(view(), values);
  }

  Index size() const { return static_cast<Index>(memory_.size()); }
  View1<T> view() const { return View1<T>(memory_.data(), memory_.size()); }
  View2<T> view(Index a, Index b) const { return View2<T>(memory_.data(), a, b); }
  View3<T> view(Index a, Index b, Index c) const { return View3<T>(memory_.data(), a, b, c); }
  View4<T> view(Index a, Index b, Index c, Index d) const {
    return View4<T>(memory_.data(), a, b, c, d);
  }
  T* data() const { return memory_.data(); }
  std::vector<T> host() const { return to_host(view()); }
  Doubles values() const { return doubles(host()); }

 private:
  Buffer<T> memory_;
};

/// A sum that kernels leave on the device.
class SumOnDevice {
 public:
  DeviceSum sum() const { return DeviceSum(memory_.data()); }
  double value() const { return to_host(View1<double>(memory_.data(), 1))[0]; }

 private:
  Buffer<double> memory_{"test::sum", 1};
};

// --- error measures: infinity where a value is no number, so that no comparison passes ---------

inline double largest(const Doubles& values) {
  double most = 0;
  for (const double value : values) {
    if (std::isnan(value)) return infinity;
    most = std::max(most, std::abs(value));
  }
  return most;
}

inline Doubles difference(const Doubles& a, const Doubles& b) {
  if (a.size() != b.size()) return {not_a_number};
  Doubles d(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) d[i] = a[i] == b[i] ? 0 : a[i] - b[i];
  return d;
}

inline double absolute_error(const Doubles& a, const Doubles& b) {
  return largest(difference(a, b));
}

/// Largest difference over largest reference value.
inline double relative_error(const Doubles& a, const Doubles& reference) {
  const double scale = largest(reference);
  const double error = absolute_error(a, reference);
  return error == 0 ? 0 : error / scale;
}

/// Largest |a - b| / bound, element by element: at most 1 where the bounds hold.
inline double error_over_bound(const Doubles& a, const Doubles& b, const Doubles& bound) {
  if (bound.size() != a.size()) return infinity;
  Doubles ratio = difference(a, b);
  if (ratio.size() != bound.size()) return infinity;
  for (std::size_t i = 0; i < ratio.size(); ++i) {
    if (ratio[i] != 0) ratio[i] /= bound[i];
  }
  return largest(ratio);
}

/// What two results may differ by that were summed in S in two ways, `terms` at most one after
/// another: 2 (terms + 3) u size, the worst case of a sum in any order (Higham, "Accuracy and
/// Stability", 3.1), once for each of the two; 3 for factors and the last rounding. `size` is the
/// sum of the terms' absolute values. It holds on every processor: u is S's, and the library's
/// order and fused operations do not enter.
template <class S>
double rounding_of_sums(Index terms, double size) {
  return 2 * (static_cast<double>(terms) + 3) * roundoff<S> * size;
}

/// As rounding_of_sums where worst cases would hide faults: independent roundings of a sum of n
/// terms come to sqrt(n) u of its size (Higham and Mary, 2019), here at six standard deviations.
template <class S>
double likely_rounding(Index terms, double size) {
  return 6 * std::sqrt(static_cast<double>(terms)) * roundoff<S> * size;
}

/// What values may differ by after updates of Adam whose gradients were summed in two ways: an
/// update is the rate times a ratio of moments, so it has the relative error of its gradient's
/// element; of N elements the smallest is about 1 / N of their root mean square, which errors are
/// relative to.
template <class S>
double rounding_of_updates(Index steps, double rate, Index elements, Index terms) {
  return static_cast<double>(steps * elements) * rate * likely_rounding<S>(terms, 1);
}

/// Relative error of fast_exp in S. Its float form: u 0.4 from the reduced argument, 0.6 from the
/// polynomial's sums of up to ln(2) / 2, both over 0.7; 1 from the last sum, 0.5 from the fit:
/// below 3.3 u, the 2e-7 that elementary.hpp promises. Libraries' exponentials stay below two.
template <class S>
inline constexpr double exp_error = 3.3 * roundoff<S>;

/// Relative error of sigmoid in S: that of exp, of a sum and of a quotient.
template <class S>
inline constexpr double sigmoid_error = exp_error<S> + 2 * roundoff<S>;

inline double dot(const Doubles& a, const Doubles& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

inline double norm(const Doubles& a) { return std::sqrt(dot(a, a)); }

// --- derivatives by differences -----------------------------------------------------------------

using Function = std::function<double(const Doubles&)>;

/// The derivative of f at x along a direction by the five-point central formula, whose error is
/// h^4 f''''' / 30 from the formula and about u |f| / h from rounding: with f, x of order 1 and
/// h = 1e-3 about 1e-12 from each.
inline double derivative(const Function& f, const Doubles& x, const Doubles& direction, double h) {
  const auto at = [&](double step) {
    Doubles moved = x;
    for (std::size_t i = 0; i < x.size(); ++i) moved[i] += step * direction[i];
    return f(moved);
  };
  return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
}

/// Largest relative error of `gradient` against differences of f at x: along random directions
/// (relative to the gradient's norm, which the derivative is about as large as), and for all
/// elements, or `most` of them drawn at random (relative to their own size, or to the gradient's
/// root mean square where that is larger).
inline double gradient_error(const Function& f, const Doubles& x, const Doubles& gradient,
                             double h = 1e-3, Index most = 24, int directions = 3) {
  if (gradient.size() != x.size() || x.empty()) return infinity;
  const Index n = static_cast<Index>(x.size());
  const double scale = norm(gradient);
  if (!(scale > 0)) return infinity;  // nothing would be tested
  Random random(20240601 + n);
  Doubles errors;
  for (int i = 0; i < directions; ++i) {
    const Doubles direction = random.normals(n, std::sqrt(std::min(1.0, 30.0 / double(n))));
    const double length = norm(direction) / std::sqrt(double(n));
    errors.push_back((derivative(f, x, direction, h) - dot(gradient, direction)) /
                     (scale * length));
  }
  const double typical = scale / std::sqrt(double(n));
  for (Index i = 0; i < std::min(n, most); ++i) {
    const Index element = n <= most ? i : random.below(n);
    Doubles direction(n, 0.0);
    direction[element] = 1;
    errors.push_back((derivative(f, x, direction, h) - gradient[element]) /
                     std::max(std::abs(gradient[element]), typical));
  }
  return largest(errors);
}

/// What every gradient has to reach in fp64 at h = 1e-3: the formula is off by h^4 / 30 = 3e-14 of
/// the fifth derivative, values summed of n terms by 1.5 n u / h = 2e-13 n of their size, so this
/// leaves room for fifth derivatives of 1e7 and sums of 1e6 terms, times the derivative's size. A
/// smaller h, for functions with kinks, has its rounding u / h: 1e-10 n for 1e-6.
inline constexpr double gradient_tolerance = 1e-6;

}  // namespace lexikos::test

#include "capacity/moments.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/batches/step_batch.hpp"
#include "kernels/spectrum.hpp"

namespace lexikos::capacity {
namespace {

constexpr Index panel_rows = 512;
constexpr Index scalars = 3;  // at the front of sums_

double dot(const double* a, const double* b, Index n) {
  double sum = 0;
  LEXIKOS_SIMD_SUM(sum)
  for (Index i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

double mean_cosine(const std::vector<double>& sum, Index n) {
  const double square = dot(sum.data(), sum.data(), static_cast<Index>(sum.size()));
  const double rows = static_cast<double>(n);
  return (square - rows) / (rows * (rows - 1));
}

GramMoments::GramMoments(std::vector<double> shift)
    : shift_(std::move(shift)),
      gram_(static_cast<Index>(shift_.size()), panel_rows),
      panel_(shift_.size() * panel_rows),
      sums_(scalars + 2 * shift_.size(), 0.0) {}

void GramMoments::add_panel(Index count, const double* panel) {
  const Index width = gram_.width();
  double* sum_w = sums_.data() + scalars;
  double* sum_gw = sum_w + width;
  sums_[0] += static_cast<double>(count);
  for (Index i = 0; i < count; ++i) {
    const double* w = panel + i * width;
    const double g = dot(shift_.data(), w, width);
    sums_[1] += g;
    sums_[2] += g * g;
    LEXIKOS_SIMD
    for (Index d = 0; d < width; ++d) {
      sum_w[d] += w[d];
      sum_gw[d] += g * w[d];
    }
  }
  gram_.add(panel, count);
}

void GramMoments::add(const UnitRows& rows, Index begin, Index end, const Communicator& comm) {
  const Share share = share_of(end - begin, comm.rank(), comm.size());
  const Index last = begin + share.end;
  for (Index at = begin + share.begin; at < last; at += panel_rows) {
    const Index count = std::min(panel_rows, last - at);
    rows.fill(at, count, panel_.data(), shift_.data());
    add_panel(count, panel_.data());
  }
}

void GramMoments::combine(const Communicator& comm) {
  if (comm.size() == 1) return;
  const Index width = gram_.width();
  comm.sum(sums_);
  comm.sum(gram_.to_host(), width * width);
  // From here on only the root holds what all have: the next sum must not count it again.
  if (!comm.is_root()) {
    std::fill(sums_.begin(), sums_.end(), 0.0);
    std::fill_n(gram_.on_host(), width * width, 0.0);
  }
  gram_.from_host();
}

PairMoments GramMoments::moments(const Communicator& comm) {
  combine(comm);
  std::vector<double> result(2, 0.0);
  if (comm.is_root()) {
    const Index width = gram_.width();
    const double n = sums_[0], sum_g = sums_[1], sum_g2 = sums_[2];
    const double* sum_w = sums_.data() + scalars;
    const double shift2 = dot(shift_.data(), shift_.data(), width);
    const double diagonal = 1.0 - shift2;
    const double pairs = n * (n - 1);  // ordered pairs
    const double first = 2 * n * sum_g + dot(sum_w, sum_w, width) - n * diagonal;
    const double second = 2 * n * sum_g2 + 2 * sum_g * sum_g +
                          4 * dot(sum_w, sum_w + width, width) + gram_.square_sum() -
                          n * diagonal * diagonal;
    const double offset = first / pairs;
    result = {shift2 + offset, std::sqrt(std::max(second / pairs - offset * offset, 0.0))};
  }
  comm.sum(result);
  return {result[0], result[1]};
}

std::vector<double> GramMoments::eigenvalues(const Communicator& comm) {
  combine(comm);
  std::vector<double> values;
  comm.on_root([&] {
    const Index width = gram_.width();
    double* gram = gram_.whole();
    const double n = sums_[0];
    const double *a = shift_.data(), *s = sums_.data() + scalars;
    for (Index i = 0; i < width; ++i) {
      for (Index j = 0; j < width; ++j) {
        gram[i * width + j] += s[i] * a[j] + a[i] * s[j] + n * a[i] * a[j];
      }
    }
    values = symmetric_eigenvalues(gram, width);
    std::reverse(values.begin(), values.end());
  });
  return values;
}

double effective_rank(const std::vector<double>& eigenvalues) {
  double largest = 0, sum = 0, entropy = 0;
  for (const double x : eigenvalues) largest = std::max(largest, x);
  std::vector<double> singular;
  for (const double x : eigenvalues) {
    if (x > 1e-12 * largest) singular.push_back(std::sqrt(x));
  }
  for (const double x : singular) sum += x;
  if (singular.empty()) return std::numeric_limits<double>::quiet_NaN();
  for (const double x : singular) entropy -= x / sum * std::log(x / sum);
  return std::exp(entropy);
}

double participation_ratio(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (const double x : values) {
    sum += x;
    squares += x * x;
  }
  return squares > 0 ? sum * sum / squares : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace lexikos::capacity

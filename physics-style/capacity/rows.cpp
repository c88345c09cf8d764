#include "capacity/rows.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>

#include "data/batches/step_batch.hpp"
#include "utils/error.hpp"
#include "utils/finite.hpp"
#include "utils/median.hpp"

namespace lexikos::capacity {
namespace {

using Host = Kokkos::DefaultHostExecutionSpace;
using HostRange = Kokkos::RangePolicy<Host, Kokkos::IndexType<Index>>;

constexpr Index rows_at_a_time = 16;  // of one task, which has one buffer
constexpr Index sum_block = 512;      // rows of one partial sum

/// Calls body(task, buffer) for tasks [0, tasks), in parallel on the host; a buffer of `numbers`
/// belongs to one task at a time. All are allocated before: an exception in a parallel region would
/// end the process. Throws Error(resource).
template <class Body>
void for_host_tasks(const std::string& label, Index tasks, Index numbers, const Body& body) {
  if (tasks <= 0) return;
  const Index slots = std::min<Index>(tasks, Host().concurrency());
  std::vector<std::vector<double>> buffers;
  try {
    for (Index slot = 0; slot < slots; ++slot) {
      buffers.emplace_back(static_cast<std::size_t>(numbers));
    }
  } catch (const std::exception&) {  // bad_alloc, length_error
    fail(Status::resource, "no memory for rows of " + std::to_string(numbers) +
                               " numbers for each of " + std::to_string(slots) + " threads");
  }
  std::atomic<Index> next{0};
  Kokkos::parallel_for(label, HostRange(0, slots), [&](const Index slot) {
    for (Index task = next++; task < tasks; task = next++) body(task, buffers[slot].data());
  });
  Host().fence();
}

/// Calls body(row, buffer[width]) for rows [begin, end), in parallel on the host.
template <class Body>
void for_host_rows(const std::string& label, Index begin, Index end, Index width,
                   const Body& body) {
  const Index tasks = (end - begin + rows_at_a_time - 1) / rows_at_a_time;
  for_host_tasks(label, tasks, width, [&](const Index task, double* buffer) {
    const Index first = begin + task * rows_at_a_time;
    for (Index i = first; i < std::min(end, first + rows_at_a_time); ++i) body(i, buffer);
  });
}

double dot(const double* a, const double* b, Index n) {
  double sum = 0;
  LEXIKOS_SIMD_SUM(sum)
  for (Index i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

double largest_magnitude(const double* x, Index n) {
  double most = 0;
  LEXIKOS_SIMD_MAX(most)
  for (Index i = 0; i < n; ++i) most = std::abs(x[i]) > most ? std::abs(x[i]) : most;
  return most;
}

/// A norm as scaled 2^exponent, so that it neither overflows nor underflows; 0 2^0 for a zero row.
struct Norm {
  double scaled = 0;
  int exponent = 0;
};

/// Destroys x where its numbers are too large or small to be squared.
Norm norm_of(double* x, Index n) {
  const double most = largest_magnitude(x, n);
  if (most == 0) return {};
  const int exponent = std::ilogb(most);
  if (std::abs(exponent) < 400) {
    return {std::sqrt(dot(x, x, n)) * std::ldexp(1.0, -exponent), exponent};
  }
  for (Index i = 0; i < n; ++i) x[i] = std::ldexp(x[i], -exponent);
  return {std::sqrt(dot(x, x, n)), exponent};
}

double safe_norm(double* x, Index n) {
  const Norm norm = norm_of(x, n);
  return std::ldexp(norm.scaled, norm.exponent);
}

constexpr int lowest_factor = -1000;  // 2^1000 is the largest power that rows are multiplied by
// Of the largest row: shorter differences from the mean have lost their digits, and one over them
// may be infinite.
constexpr double shortest = 0x1p-900;

}  // namespace

double RowNorms::norm(Index row) const {
  return std::min(std::ldexp(scaled[row], exponent[row]), std::numeric_limits<double>::max());
}

double RowNorms::log_norm(Index row) const {
  return std::log(scaled[row]) + exponent[row] * std::log(2.0);
}

RowNorms measure_norms(const WeightMatrix& matrix, Index count, const Communicator& comm) {
  const Share share = share_of(count, comm.rank(), comm.size());
  // One array for both numbers, so that ranks exchange them in one message.
  std::vector<double> facts(static_cast<std::size_t>(2 * count), 0.0);
  comm.on_all([&] {
    std::vector<char> bad(static_cast<std::size_t>(share.size()), 0);
    const auto measure = [&](Index i, double* x) {
      matrix.read(i, x);
      if (first_not_finite(x, matrix.width) >= 0) {
        bad[i - share.begin] = 1;
        return;
      }
      const Norm norm = norm_of(x, matrix.width);
      facts[2 * i] = norm.scaled;
      facts[2 * i + 1] = norm.exponent;
    };
    for_host_rows("Lexikos::capacity::norms", share.begin, share.end, matrix.width, measure);
    const auto first = std::find(bad.begin(), bad.end(), 1);
    if (first != bad.end()) {
      std::vector<double> row(static_cast<std::size_t>(matrix.width));
      read_finite(matrix, share.begin + (first - bad.begin()), row.data());  // throws
    }
  });
  comm.sum(facts);
  RowNorms norms;
  norms.largest_exponent = lowest_factor;
  for (Index i = 0; i < count; ++i) {
    norms.scaled.push_back(facts[2 * i]);
    norms.exponent.push_back(static_cast<int>(facts[2 * i + 1]));
    if (facts[2 * i] > 0) {
      norms.largest_exponent = std::max(norms.largest_exponent, norms.exponent.back());
    }
  }
  return norms;
}

std::vector<Index> outlier_rows(const RowNorms& norms, const std::vector<Index>& rows, double z) {
  if (rows.empty()) return {};
  std::vector<double> logs, distances;
  for (const Index i : rows) {
    logs.push_back(norms.log_norm(i));
  }
  const double centre = median(logs);
  for (const double x : logs) distances.push_back(std::abs(x - centre));
  // 1.4826 MAD is the standard deviation of normally distributed values.
  const double scale = 1.4826 * std::max(median(distances), 1e-6);
  std::vector<Index> outliers;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (distances[k] > z * scale) outliers.push_back(rows[k]);
  }
  return outliers;
}

UnitRows UnitRows::raw(const WeightMatrix& matrix, const RowNorms& norms, std::vector<Index> ids) {
  UnitRows rows;
  rows.matrix_ = matrix;
  rows.ids_ = std::move(ids);
  for (const Index i : rows.ids_) {
    const int exponent = std::max(norms.exponent[i], lowest_factor);
    rows.factor_.push_back(std::ldexp(1.0, -exponent));
    rows.inverse_.push_back(std::ldexp(1.0 / norms.scaled[i], exponent - norms.exponent[i]));
  }
  return rows;
}

UnitRows UnitRows::centred(const UnitRows& raw, Index count, const RowNorms& norms,
                           const Communicator& comm) {
  const Index width = raw.width();
  const int exponent = norms.largest_exponent;
  // The rows in units of 2^exponent: their sum is that of "unit rows" of length 1.
  UnitRows rows;
  rows.matrix_ = raw.matrix_;
  rows.ids_.assign(raw.ids_.begin(), raw.ids_.begin() + count);
  rows.factor_.assign(count, std::ldexp(1.0, -exponent));
  rows.inverse_.assign(count, 1.0);
  std::vector<double> mean = rows.sum(count, comm);
  for (double& x : mean) x /= static_cast<double>(count);
  const double length = safe_norm(std::vector<double>(mean).data(), width);

  std::vector<double> facts(static_cast<std::size_t>(2 * count), 0.0);
  const Share share = share_of(count, comm.rank(), comm.size());
  for_host_rows("Lexikos::capacity::centre", share.begin, share.end, width,
                [&](Index i, double* x) {
                  rows.unit_row(i, x);
                  facts[2 * i + 1] = length > 0 ? dot(x, mean.data(), width) / length : 0.0;
                  for (Index d = 0; d < width; ++d) x[d] -= mean[d];
                  facts[2 * i] = safe_norm(x, width);
                });
  comm.sum(facts);
  rows.mean_ = mean;
  Index kept = 0;
  for (Index i = 0; i < count; ++i) {
    const double distance = facts[2 * i];
    if (distance <= std::max(1e-6 * length, shortest)) continue;
    const Index id = rows.ids_[i];
    rows.p_.push_back(std::ldexp(norms.scaled[id], norms.exponent[id] - exponent) / distance);
    rows.q_.push_back(facts[2 * i + 1] / distance);
    rows.s_.push_back(length / distance);
    rows.ids_[kept] = id;
    rows.inverse_[kept] = 1.0 / distance;
    ++kept;
  }
  rows.lost_ = count - kept;
  rows.ids_.resize(kept);
  rows.factor_.resize(kept);
  rows.inverse_.resize(kept);
  return rows;
}

double UnitRows::amplification() const {
  double most = 0;
  for (std::size_t i = 0; i < p_.size(); ++i) most = std::max({most, p_[i], s_[i]});
  return most * most;
}

void UnitRows::unit_row(Index i, double* out) const {
  matrix_.read(ids_[i], out);
  const double factor = factor_[i], inverse = inverse_[i];
  const Index width = matrix_.width;
  if (mean_.empty()) {
    LEXIKOS_SIMD
    for (Index d = 0; d < width; ++d) out[d] = out[d] * factor * inverse;
  } else {
    const double* mean = mean_.data();
    LEXIKOS_SIMD
    for (Index d = 0; d < width; ++d) out[d] = (out[d] * factor - mean[d]) * inverse;
  }
}

template <class T>
void UnitRows::fill(Index begin, Index count, T* out, const double* shift) const {
  const Index width = matrix_.width;
  for_host_rows("Lexikos::capacity::fill", 0, count, width, [&](Index k, double* x) {
    unit_row(begin + k, x);
    T* row = out + k * width;
    if (shift == nullptr) {
      LEXIKOS_SIMD
      for (Index d = 0; d < width; ++d) row[d] = static_cast<T>(x[d]);
    } else {
      LEXIKOS_SIMD
      for (Index d = 0; d < width; ++d) row[d] = static_cast<T>(x[d] - shift[d]);
    }
  });
}

template void UnitRows::fill<float>(Index, Index, float*, const double*) const;
template void UnitRows::fill<double>(Index, Index, double*, const double*) const;

std::vector<double> UnitRows::sum(Index count, const Communicator& comm) const {
  const Index width = matrix_.width;
  const Index blocks = (count + sum_block - 1) / sum_block;
  const Share share = share_of(blocks, comm.rank(), comm.size());
  std::vector<double> total(static_cast<std::size_t>(width), 0.0);
  // A few blocks at a time: each has a partial sum of its own.
  constexpr Index together = 16;
  std::vector<double> partial(static_cast<std::size_t>(together * width));
  for (Index first = share.begin; first < share.end; first += together) {
    const Index here = std::min(together, share.end - first);
    std::fill(partial.begin(), partial.end(), 0.0);
    for_host_tasks("Lexikos::capacity::sum", here, width, [&](const Index b, double* x) {
      double* sum = partial.data() + b * width;
      const Index begin = (first + b) * sum_block;
      for (Index i = begin; i < std::min(count, begin + sum_block); ++i) {
        unit_row(i, x);
        for (Index d = 0; d < width; ++d) sum[d] += x[d];
      }
    });
    for (Index b = 0; b < here; ++b) {
      for (Index d = 0; d < width; ++d) total[d] += partial[b * width + d];
    }
  }
  comm.sum(total);
  return total;
}

double UnitRows::cosine(Index i, Index j) const {
  std::vector<double> a(static_cast<std::size_t>(width())), b(a.size());
  unit_row(i, a.data());
  unit_row(j, b.data());
  return dot(a.data(), b.data(), width());
}

}  // namespace lexikos::capacity

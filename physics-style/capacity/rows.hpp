// The rows of a matrix on their way to pairs: norms, which rows count, unit rows raw and centred.
#pragma once

#include <vector>

#include "parallel/communicator.hpp"
#include "weights/weight_matrix.hpp"

namespace lexikos::capacity {

/// Norms of the first `count` rows. A norm is held as scaled * 2^exponent, so that rows of 1e-300
/// and of 1e300 have both their directions.
struct RowNorms {
  std::vector<double> scaled;  // [count], 0 for a zero row
  std::vector<int> exponent;   // [count]
  int largest_exponent = 0;    // of the rows that are not zero

  /// The largest double where the norm is past it, as only that of elements near it can be.
  [[nodiscard]] double norm(Index row) const;
  /// Natural logarithm of the norm, finite whatever its size; of a row that is not zero.
  [[nodiscard]] double log_norm(Index row) const;
};

/// Reads the rows once, each rank its share; collective. Throws Error as refuse_value
/// (weights/weight_matrix.hpp) on the first value that is not finite.
RowNorms measure_norms(const WeightMatrix& matrix, Index count, const Communicator& comm);

/// Rows whose norm is an outlier: |ln n - median| > z 1.4826 MAD, the median and the median
/// absolute deviation of ln n over `rows`; a MAD below 1e-6 counts as 1e-6. Ascending.
std::vector<Index> outlier_rows(const RowNorms& norms, const std::vector<Index>& rows, double z);

/// A list of rows, each turned into a unit vector as it is read:
///   u = (x factor - mean) / length, with mean 0 for raw rows.
/// What the pairs of a centred list need of a raw one's cosines c stands in p, q, s (see centre):
///   c'_ij = p_i p_j c_ij - q_i s_j - s_i q_j + s_i s_j.
class UnitRows {
 public:
  /// Raw unit rows. `ids` must not hold zero rows.
  static UnitRows raw(const WeightMatrix& matrix, const RowNorms& norms, std::vector<Index> ids);

  /// Rows less the mean of the rows of `raw`, its first `count`, over the rest's length. Rows that
  /// equal the mean up to rounding (difference at most 1e-6 of it) have no direction: they are left
  /// out, and lost() tells how many; so are differences below 2^-900 of the largest row.
  /// Collective.
  static UnitRows centred(const UnitRows& raw, Index count, const RowNorms& norms,
                          const Communicator& comm);

  [[nodiscard]] Index size() const { return static_cast<Index>(ids_.size()); }
  [[nodiscard]] Index width() const { return matrix_.width; }
  [[nodiscard]] const std::vector<Index>& ids() const { return ids_; }
  [[nodiscard]] Index lost() const { return lost_; }
  [[nodiscard]] const std::vector<double>& p() const { return p_; }
  [[nodiscard]] const std::vector<double>& q() const { return q_; }
  [[nodiscard]] const std::vector<double>& s() const { return s_; }
  /// Largest p or s: rounding of a raw cosine grows by its square in a centred one.
  [[nodiscard]] double amplification() const;

  /// Rows [begin, begin + count) of the list into out[count width] in host memory; `shift` [width],
  /// where given, is subtracted from each unit row.
  template <class T>
  void fill(Index begin, Index count, T* out, const double* shift = nullptr) const;

  /// Sum of the unit rows [0, count), in double and blocks whose partial sums are added in order.
  /// Collective; each rank reads its share.
  [[nodiscard]] std::vector<double> sum(Index count, const Communicator& comm) const;

  /// u_i . u_j in double.
  [[nodiscard]] double cosine(Index i, Index j) const;

 private:
  void unit_row(Index i, double* out) const;

  WeightMatrix matrix_;
  std::vector<Index> ids_;
  std::vector<double> factor_, inverse_;  // [size]
  std::vector<double> mean_;              // [width], empty for raw rows
  std::vector<double> p_, q_, s_;
  Index lost_ = 0;
};

}  // namespace lexikos::capacity

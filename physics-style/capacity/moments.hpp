// Mean and deviation of all pair cosines in double without visiting a pair, and the spectrum.
//
// With unit rows u_i (n of them), any vector a, w_i = u_i - a, g_i = a . w_i and G = sum w_i w_i^T:
//   c_ij - |a|^2 = g_i + g_j + w_i . w_j
//   sum over i, j of (c_ij - |a|^2)   = 2 n sum g + |sum w|^2
//   sum over i, j of (c_ij - |a|^2)^2 = 2 n sum g^2 + 2 (sum g)^2 + 4 (sum w) . (sum g w) + |G|_F^2
// and the diagonal terms are 1 - |a|^2. The mean row as a keeps the sums free of cancellation where
// rows share a component.
#pragma once

#include <vector>

#include "capacity/rows.hpp"
#include "kernels/gram.hpp"

namespace lexikos::capacity {

struct PairMoments {
  double mean = 0, deviation = 0;
};

/// The exact mean of u_i . u_j over i < j from the sum of n unit rows.
double mean_cosine(const std::vector<double>& sum, Index n);

/// Sums over the rows of a list, in the order of the list.
class GramMoments {
 public:
  /// `shift` is the a above. Needs 8 width^2 bytes and a panel of 512 rows.
  explicit GramMoments(std::vector<double> shift);

  /// Adds rows [begin, end) of the list; each rank takes its share. Collective.
  void add(const UnitRows& rows, Index begin, Index end, const Communicator& comm);

  /// Of all rows added so far, two at least. Collective.
  PairMoments moments(const Communicator& comm);

  /// Eigenvalues of sum u_i u_i^T, descending, on the root (empty elsewhere); ends the use of this
  /// object. Collective.
  std::vector<double> eigenvalues(const Communicator& comm);

 private:
  void add_panel(Index count, const double* panel);
  void combine(const Communicator& comm);

  std::vector<double> shift_;
  GramSum gram_;
  std::vector<double> panel_;
  // Summed over ranks by combine(): n, sum g, sum g^2, then sum w [width] and sum g w [width].
  std::vector<double> sums_;
};

/// The effective rank of U (Roy and Vetterli 2007): exp of the entropy of its singular values over
/// their sum, from the eigenvalues of U^T U. Those below 1e-12 of the largest are rounding and
/// count as 0. NaN of a matrix of zeros, as the next one.
double effective_rank(const std::vector<double>& eigenvalues);

/// (sum)^2 / sum of squares.
double participation_ratio(const std::vector<double>& eigenvalues);

}  // namespace lexikos::capacity

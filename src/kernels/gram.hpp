// G += X^T X in double: the D x D Gram matrix of a panel of rows.
//
// Written out because it must be in double: oneDNN has no such product, and Kokkos Kernels without
// a BLAS reaches a few percent of a host's speed. On a device it is the gemm wrapper's.
#pragma once

#include "kokkos_types.hpp"

namespace lexikos {

class GramSum {
 public:
  /// G [width width] is zero; panels have at most `panel_rows` rows.
  GramSum(Index width, Index panel_rows);

  /// G += rows^T rows; rows [count width], read only, in host memory. Only the part on and above
  /// the diagonal is kept current.
  void add(const double* rows, Index count);

  /// The sums in host memory [width width], on and above the diagonal: copied there, where they
  /// are, and taken back from there.
  double* to_host();
  double* on_host() { return mirror_.data(); }
  void from_host();

  /// to_host() with both triangles.
  double* whole();

  /// Sum of all squared elements of the symmetric matrix.
  double square_sum();

  Index width() const { return width_; }

 private:
  void add_on_host(const double* rows, Index count);

  Index width_, strips_;
  Buffer<double> gram_, packed_;
  HostBuffer<double> mirror_;
};

}  // namespace lexikos

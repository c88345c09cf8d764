// Eigenvalues of a symmetric matrix in double, on the host: Householder's reduction to tridiagonal
// form and the implicit QL method (Golub and Van Loan, Matrix Computations, sections 8.3.1, 8.3.3).
#pragma once

#include <vector>

#include "kokkos_types.hpp"

namespace lexikos {

/// All eigenvalues of `matrix` [n n], ascending. Both triangles are read; `matrix` is destroyed.
/// The error is a small multiple of n u ||A||. Cost: 4/3 n^3 multiply-adds, limited by memory.
/// Throws Error(numerical) where an element is not finite, or QL does not converge. An eigenvalue
/// past the largest double is infinite.
std::vector<double> symmetric_eigenvalues(double* matrix, Index n);

}  // namespace lexikos

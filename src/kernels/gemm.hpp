// The one wrapper around matrix products. Nothing else in the code calls a BLAS.
// All matrices are row-major and contiguous. Three implementations stand behind it:
//   vendor          cuBLAS or hipBLAS with the CUDA or HIP backend
//   onednn          fp32 on a host backend, where the library was found
//   kokkos_kernels  any scalar on any backend
// The choice is made once for each scalar and printed at start.
#pragma once

#include <string>

#include "kokkos_types.hpp"

namespace lexikos {

enum class Op { none, transpose };
enum class GemmLibrary { vendor, onednn, kokkos_kernels };

/// The library in use for scalar S.
template <class S>
GemmLibrary gemm_library();

/// Its name and version, for banners and files.
template <class S>
std::string gemm_library_name();

/// Chooses another library from here on (tests, and `parallel.gemm` of a deck).
/// Throws Error(resource) where this build or scalar does not have it.
template <class S>
void use_gemm_library(GemmLibrary library);

/// C = alpha op(A) op(B) + beta C. Overwrites C when beta is 0 (C may then hold anything), adds
/// otherwise. Shapes: op(A) [m k], op(B) [k n], C [m n]; a mismatch throws with every extent.
template <class S>
void gemm(const ExecSpace& space, Op op_a, Op op_b, S alpha, View2<const S> a, View2<const S> b,
          S beta, View2<S> c);

/// `count` matrices of rows x cols, matrix g at data + g * stride.
template <class S>
struct MatrixBatch {
  S* data;
  Index rows, cols, stride;
};

/// The same for every g < count, in parallel over g.
template <class S>
void gemm_batched(const ExecSpace& space, Op op_a, Op op_b, Index count, S alpha,
                  MatrixBatch<const S> a, MatrixBatch<const S> b, S beta, MatrixBatch<S> c);

/// One product on the calling thread alone, for parallel loops of host backends; the batch's strides
/// are not read. Errors (Status::resource): called on a device backend.
template <class S>
void gemm_on_thread(Op op_a, Op op_b, S alpha, MatrixBatch<const S> a, MatrixBatch<const S> b,
                    S beta, MatrixBatch<S> c);

}  // namespace lexikos

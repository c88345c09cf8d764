// The one wrapper around matrix products. Nothing else in the code calls a BLAS.
// All matrices are row-major and contiguous. Four implementations stand behind it:
//   vendor          cuBLAS or hipBLAS with the CUDA or HIP backend
//   onednn          fp32 and bf16 on a host backend, where the library was found
//   kokkos_kernels  fp32 and fp64 on any backend
//   loops           bf16 on any backend: right, and slow
// The choice is made once for each scalar and printed at start.
//
// Factors of type A are multiplied and summed in Wide<A>: fp32 for bf16. The product is of type A
// or Wide<A>.
#pragma once

#include <string>

#include "kokkos_types.hpp"

namespace lexikos {

enum class Op { none, transpose };
enum class GemmLibrary { vendor, onednn, kokkos_kernels, loops };

/// The library in use for factors of type A.
template <class A>
GemmLibrary gemm_library();

/// Its name and version, for banners and files.
template <class A>
std::string gemm_library_name();

/// Chooses another library from here on (tests, and `parallel.gemm` of a deck).
/// Throws Error(resource) where this build or scalar does not have it.
template <class A>
void use_gemm_library(GemmLibrary library);

/// C = alpha op(A) op(B) + beta C. Overwrites C when beta is 0 (C may then hold anything), adds
/// otherwise. Shapes: op(A) [m k], op(B) [k n], C [m n]; a mismatch throws with every extent.
template <class A, class C = A>
void gemm(const ExecSpace& space, Op op_a, Op op_b, Wide<A> alpha, View2<const A> a,
          View2<const A> b, Wide<A> beta, View2<C> c);

/// `count` matrices of rows x cols, matrix g at data + g * stride.
template <class S>
struct MatrixBatch {
  S* data;
  Index rows, cols, stride;
};

/// The same for every g < count, in parallel over g.
template <class A, class C = A>
void gemm_batched(const ExecSpace& space, Op op_a, Op op_b, Index count, Wide<A> alpha,
                  MatrixBatch<const A> a, MatrixBatch<const A> b, Wide<A> beta, MatrixBatch<C> c);

/// One product on the calling thread alone, for parallel loops of host backends; the batch's
/// strides are not read. Errors (Status::resource): called on a device backend.
template <class A, class C = A>
void gemm_on_thread(Op op_a, Op op_b, Wide<A> alpha, MatrixBatch<const A> a, MatrixBatch<const A> b,
                    Wide<A> beta, MatrixBatch<C> c);

}  // namespace lexikos

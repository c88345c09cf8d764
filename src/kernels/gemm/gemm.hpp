// The one wrapper around matrix products. Nothing else in the code calls a BLAS.
// All matrices are row-major and contiguous. Five implementations stand behind it:
//   vendor          cuBLAS or hipBLAS with the CUDA or HIP backend
//   onednn          on a host backend, where the library was found: fp32, and bf16 where the
//                   processor has instructions for it
//   widened         bf16 on other hosts: tiles widened to fp32, multiplied by what fp32 uses
//   kokkos_kernels  fp32 and fp64 on any backend
//   loops           everything everywhere: right, and slow
// The first that has products of a scalar is taken at start, and printed.
//
// Factors of type A are multiplied and summed in Wide<A>: fp32 for bf16. The product is of type A
// or Wide<A>.
#pragma once

#include <string>

#include "kokkos_types.hpp"

namespace lexikos {

enum class Op { none, transpose };
enum class GemmLibrary { vendor, onednn, widened, kokkos_kernels, loops };

/// The library in use for factors of type A.
template <class A>
GemmLibrary gemm_library();

/// Its name and version, for banners and files.
template <class A>
std::string gemm_library_name();

/// Chooses another library from here on, for tests and measurements. Errors (Status::resource):
/// the library is not in this build, or has no products of A on this processor.
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

/// C_g = alpha op(A_g) op(B_g) + beta C_g for every g < count, as `gemm`, in parallel over g.
template <class A, class C = A>
void gemm_batched(const ExecSpace& space, Op op_a, Op op_b, Index count, Wide<A> alpha,
                  MatrixBatch<const A> a, MatrixBatch<const A> b, Wide<A> beta, MatrixBatch<C> c);

/// One product on the calling thread, for parallel loops of host backends; the batch's
/// strides are not read. Errors (Status::resource): called on a device backend.
template <class A, class C = A>
void gemm_on_thread(Op op_a, Op op_b, Wide<A> alpha, MatrixBatch<const A> a, MatrixBatch<const A> b,
                    Wide<A> beta, MatrixBatch<C> c);

}  // namespace lexikos

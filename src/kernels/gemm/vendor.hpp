// The matrix products of the GPU's vendor: cuBLAS with CUDA, hipBLAS with HIP. Only gemm.cpp calls
// them; in builds for a host no_vendor.cpp stands for it.
#pragma once

#include <string>

#include "kernels/gemm/gemm.hpp"

namespace lexikos::vendor {

/// True where this build has one of the two.
bool available();

/// "cuBLAS 13.0.2"; empty where there is none.
std::string name();

/// C = alpha op(A) op(B) + beta C for count >= 1 products, on the stream of `space`; asynchronous.
/// Matrices are row-major and contiguous in device memory: op(A) [m k], op(B) [k n], C [m n],
/// product g at data + g * stride. Factors in bf16 and fp32 are accumulated in fp32 (never in
/// TF32), fp64 in fp64. Errors (Status::resource): what the library reports, by number; sizes past
/// 2^31.
template <class A, class C>
void gemm_batched(const ExecSpace& space, Op op_a, Op op_b, Index m, Index n, Index k, Index count,
                  Wide<A> alpha, MatrixBatch<const A> a, MatrixBatch<const A> b, Wide<A> beta,
                  MatrixBatch<C> c);

}  // namespace lexikos::vendor

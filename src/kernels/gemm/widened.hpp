// Products of bf16 by way of fp32, for hosts whose processor has no bf16 products: tiles of both
// factors are widened into a small workspace of the thread and multiplied by gemm_on_thread<float>.
// Only gemm.cpp calls them.
#pragma once

#include "kernels/gemm/gemm.hpp"

namespace lexikos::widened {

/// C = alpha op(A) op(B) + beta C for count >= 1 products, with sums in fp32 and one rounding to C,
/// in parallel over the tiles of all; returns when all are done. In host memory: op(A) [m k],
/// op(B) [k n], C [m n], product g at data + g * stride.
template <class C>
void gemm_batched(Op op_a, Op op_b, Index m, Index n, Index k, Index count, float alpha,
                  MatrixBatch<const Bf16> a, MatrixBatch<const Bf16> b, float beta,
                  MatrixBatch<C> c);

/// One such product on the calling thread.
template <class C>
void gemm_on_thread(Op op_a, Op op_b, Index m, Index n, Index k, float alpha, const Bf16* a,
                    const Bf16* b, float beta, C* c);

}  // namespace lexikos::widened

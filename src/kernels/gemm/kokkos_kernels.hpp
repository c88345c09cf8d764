// Kokkos Kernels' matrix products, fp32 and fp64 on any backend. Only gemm.cpp calls them; where
// the library was not found, no_kokkos_kernels.cpp stands for it.
#pragma once

#include "kernels/gemm/gemm.hpp"

namespace lexikos::kokkos_kernels {

/// True where the library has products of A.
template <class A>
bool has();

/// C = alpha op(A) op(B) + beta C, as lexikos::gemm. Errors (Status::resource): a type for which
/// `has` says no; so do the two below.
template <class A, class C>
void gemm(const ExecSpace& space, Op op_a, Op op_b, Wide<A> alpha, View2<const A> a,
          View2<const A> b, Wide<A> beta, View2<C> c);

/// As lexikos::gemm_batched, one product on each team.
template <class A, class C>
void gemm_batched(const ExecSpace& space, Op op_a, Op op_b, Index count, Wide<A> alpha,
                  MatrixBatch<const A> a, MatrixBatch<const A> b, Wide<A> beta, MatrixBatch<C> c);

/// As lexikos::gemm_on_thread, for host backends.
template <class A, class C>
void gemm_on_thread(Op op_a, Op op_b, Wide<A> alpha, MatrixBatch<const A> a, MatrixBatch<const A> b,
                    Wide<A> beta, MatrixBatch<C> c);

}  // namespace lexikos::kokkos_kernels

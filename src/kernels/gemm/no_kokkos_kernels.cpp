// Stands for kokkos_kernels.cpp where the library was not found.
#include "kernels/gemm/kokkos_kernels.hpp"
#include "utils/error.hpp"

namespace lexikos::kokkos_kernels {
namespace {

[[noreturn]] void absent() {
  fail(Status::resource, "gemm: this build has no Kokkos Kernels; a fault in Lexikos");
}

}  // namespace

template <class A>
bool has() {
  return false;
}

template <class A, class C>
void gemm(const ExecSpace&, Op, Op, Wide<A>, View2<const A>, View2<const A>, Wide<A>, View2<C>) {
  absent();
}

template <class A, class C>
void gemm_batched(const ExecSpace&, Op, Op, Index, Wide<A>, MatrixBatch<const A>,
                  MatrixBatch<const A>, Wide<A>, MatrixBatch<C>) {
  absent();
}

template <class A, class C>
void gemm_on_thread(Op, Op, Wide<A>, MatrixBatch<const A>, MatrixBatch<const A>, Wide<A>,
                    MatrixBatch<C>) {
  absent();
}

#define LEXIKOS_KOKKOS_KERNELS_GEMM(A, C)                                                          \
  template void gemm<A, C>(const ExecSpace&, Op, Op, Wide<A>, View2<const A>, View2<const A>,      \
                           Wide<A>, View2<C>);                                                     \
  template void gemm_batched<A, C>(const ExecSpace&, Op, Op, Index, Wide<A>, MatrixBatch<const A>, \
                                   MatrixBatch<const A>, Wide<A>, MatrixBatch<C>);                 \
  template void gemm_on_thread<A, C>(Op, Op, Wide<A>, MatrixBatch<const A>, MatrixBatch<const A>,  \
                                     Wide<A>, MatrixBatch<C>);
template bool has<float>();
template bool has<double>();
template bool has<Bf16>();
LEXIKOS_KOKKOS_KERNELS_GEMM(float, float)
LEXIKOS_KOKKOS_KERNELS_GEMM(double, double)
LEXIKOS_KOKKOS_KERNELS_GEMM(Bf16, Bf16)
LEXIKOS_KOKKOS_KERNELS_GEMM(Bf16, float)
#undef LEXIKOS_KOKKOS_KERNELS_GEMM

}  // namespace lexikos::kokkos_kernels

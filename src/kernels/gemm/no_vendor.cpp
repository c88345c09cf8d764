// Stands for vendor.cpp in builds for a host.
#include "kernels/gemm/vendor.hpp"
#include "utils/error.hpp"

namespace lexikos::vendor {

bool available() { return false; }

std::string name() { return ""; }

template <class A, class C>
void gemm_batched(const ExecSpace&, Op, Op, Index, Index, Index, Index, Wide<A>,
                  MatrixBatch<const A>, MatrixBatch<const A>, Wide<A>, MatrixBatch<C>) {
  fail(Status::resource, "gemm: this build has no GPU library; a fault in Lexikos");
}

#define LEXIKOS_VENDOR_GEMM(A, C)                                                                 \
  template void gemm_batched<A, C>(const ExecSpace&, Op, Op, Index, Index, Index, Index, Wide<A>, \
                                   MatrixBatch<const A>, MatrixBatch<const A>, Wide<A>,           \
                                   MatrixBatch<C>);
LEXIKOS_VENDOR_GEMM(float, float)
LEXIKOS_VENDOR_GEMM(double, double)
LEXIKOS_VENDOR_GEMM(Bf16, Bf16)
LEXIKOS_VENDOR_GEMM(Bf16, float)
#undef LEXIKOS_VENDOR_GEMM

}  // namespace lexikos::vendor

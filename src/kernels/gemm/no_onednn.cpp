// Stands for onednn.cpp where the library was not found, or memory is a device's.
#include "kernels/gemm/onednn.hpp"
#include "utils/error.hpp"

namespace lexikos::onednn {

std::string name() { return ""; }

template <class A>
bool has() {
  return false;
}

template <class A, class C>
void gemm(Op, Op, Index, Index, Index, Wide<A>, const A*, const A*, Wide<A>, C*) {
  fail(Status::resource, "gemm: this build has no oneDNN; a fault in Lexikos");
}

#define LEXIKOS_ONEDNN_GEMM(A, C) \
  template void gemm<A, C>(Op, Op, Index, Index, Index, Wide<A>, const A*, const A*, Wide<A>, C*);
template bool has<float>();
template bool has<double>();
template bool has<Bf16>();
LEXIKOS_ONEDNN_GEMM(float, float)
LEXIKOS_ONEDNN_GEMM(double, double)
LEXIKOS_ONEDNN_GEMM(Bf16, Bf16)
LEXIKOS_ONEDNN_GEMM(Bf16, float)
#undef LEXIKOS_ONEDNN_GEMM

}  // namespace lexikos::onednn

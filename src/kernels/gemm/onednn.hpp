// oneDNN's matrix products in host memory: fp32, and bf16 with fp32 sums. Only gemm.cpp calls them;
// where the library was not found, no_onednn.cpp stands for it.
#pragma once

#include <string>

#include "kernels/gemm/gemm.hpp"

namespace lexikos::onednn {

/// "oneDNN 2.6.3"; empty where there is none.
std::string name();

/// True where the library multiplies A with instructions of this processor: fp32 everywhere, bf16
/// where it finds AVX-512 with bf16 or more (ONEDNN_MAX_CPU_ISA hides instructions from it).
template <class A>
bool has();

/// C = alpha op(A) op(B) + beta C, op(A) [m k], op(B) [k n], on the threads of the caller's team:
/// all of them outside of a parallel region, the calling one inside. What a shape needs is made at
/// its first product on a thread and kept. Errors (Status::resource): what the library reports.
template <class A, class C>
void gemm(Op op_a, Op op_b, Index m, Index n, Index k, Wide<A> alpha, const A* a, const A* b,
          Wide<A> beta, C* c);

}  // namespace lexikos::onednn

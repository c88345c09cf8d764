// oneDNN's matrix products in host memory: fp32, and bf16 with fp32 sums. Only gemm.cpp calls them.
#pragma once

#include <string>

#include "kernels/gemm/gemm.hpp"

namespace lexikos::onednn {

#if defined(LEXIKOS_HAVE_ONEDNN)
inline constexpr bool available = device_is_host;
#else
inline constexpr bool available = false;
#endif

/// "oneDNN 2.6.3"; empty where there is none.
std::string name();

/// True where the library has products of A on this processor.
template <class A>
bool has();

/// C = alpha op(A) op(B) + beta C, op(A) [m k], op(B) [k n], on the threads of the caller's team:
/// all of them outside of a parallel region, the calling one inside. What a shape needs is made at
/// its first product on a thread and kept. Errors (Status::resource): what the library reports.
template <class A, class C>
void gemm(Op op_a, Op op_b, Index m, Index n, Index k, Wide<A> alpha, const A* a, const A* b,
          Wide<A> beta, C* c);

}  // namespace lexikos::onednn

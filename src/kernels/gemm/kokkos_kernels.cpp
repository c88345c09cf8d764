#include "kernels/gemm/kokkos_kernels.hpp"

#include <KokkosBatched_Gemm_Decl.hpp>
#include <KokkosBatched_Gemm_Serial_Impl.hpp>
#include <KokkosBatched_Gemm_Team_Impl.hpp>
#include <KokkosBlas3_gemm.hpp>

#include "utils/error.hpp"

namespace lexikos::kokkos_kernels {
namespace {

const char* letter(Op op) { return op == Op::none ? "N" : "T"; }

template <class S>
void on_all(const ExecSpace& space, Op op_a, Op op_b, S alpha, View2<const S> a, View2<const S> b,
            S beta, View2<S> c) {
  // Kokkos Kernels before 4.0 works on the default instance only.
  if constexpr (requires { KokkosBlas::gemm(space, "N", "N", alpha, a, b, beta, c); }) {
    KokkosBlas::gemm(space, letter(op_a), letter(op_b), alpha, a, b, beta, c);
  } else {
    space.fence();
    KokkosBlas::gemm(letter(op_a), letter(op_b), alpha, a, b, beta, c);
  }
}

/// Calls body(trans_a, trans_b) with the tags that Kokkos Kernels has for the two.
template <class Body>
void with_tags(Op op_a, Op op_b, const Body& body) {
  using No = KokkosBatched::Trans::NoTranspose;
  using Yes = KokkosBatched::Trans::Transpose;
  if (op_a == Op::none && op_b == Op::none) {
    body(No(), No());
  } else if (op_a == Op::none) {
    body(No(), Yes());
  } else if (op_b == Op::none) {
    body(Yes(), No());
  } else {
    body(Yes(), Yes());
  }
}

template <class S, class TransA, class TransB>
void on_teams(const ExecSpace& space, Index count, S alpha, MatrixBatch<const S> a,
              MatrixBatch<const S> b, S beta, MatrixBatch<S> c) {
  Kokkos::parallel_for(
      "Lexikos::gemm::batched",
      Kokkos::TeamPolicy<ExecSpace>(space, static_cast<int>(count), team_size()),
      KOKKOS_LAMBDA(const TeamMember& member) {
        const Index g = member.league_rank();
        const View2<const S> a_g(a.data + g * a.stride, a.rows, a.cols);
        const View2<const S> b_g(b.data + g * b.stride, b.rows, b.cols);
        const View2<S> c_g(c.data + g * c.stride, c.rows, c.cols);
        KokkosBatched::TeamGemm<TeamMember, TransA, TransB,
                                KokkosBatched::Algo::Gemm::Unblocked>::invoke(member, alpha, a_g,
                                                                              b_g, beta, c_g);
      });
}

template <class S, class TransA, class TransB>
void on_thread(S alpha, MatrixBatch<const S> a, MatrixBatch<const S> b, S beta, MatrixBatch<S> c) {
  KokkosBatched::SerialGemm<TransA, TransB, KokkosBatched::Algo::Gemm::Unblocked>::invoke(
      alpha, View2<const S>(a.data, a.rows, a.cols), View2<const S>(b.data, b.rows, b.cols), beta,
      View2<S>(c.data, c.rows, c.cols));
}

[[noreturn]] void refused() {
  fail(Status::resource, "gemm: Kokkos Kernels has no products of that scalar");
}

}  // namespace

template <class A>
bool has() {
  return !std::is_same_v<A, Bf16>;
}

template <class A, class C>
void gemm(const ExecSpace& space, Op op_a, Op op_b, Wide<A> alpha, View2<const A> a,
          View2<const A> b, Wide<A> beta, View2<C> c) {
  if constexpr (std::is_same_v<A, Bf16>) {
    refused();
  } else {
    on_all<A>(space, op_a, op_b, alpha, a, b, beta, c);
  }
}

template <class A, class C>
void gemm_batched(const ExecSpace& space, Op op_a, Op op_b, Index count, Wide<A> alpha,
                  MatrixBatch<const A> a, MatrixBatch<const A> b, Wide<A> beta, MatrixBatch<C> c) {
  if constexpr (std::is_same_v<A, Bf16>) {
    refused();
  } else {
    with_tags(op_a, op_b, [&](auto trans_a, auto trans_b) {
      on_teams<A, decltype(trans_a), decltype(trans_b)>(space, count, alpha, a, b, beta, c);
    });
  }
}

template <class A, class C>
void gemm_on_thread(Op op_a, Op op_b, Wide<A> alpha, MatrixBatch<const A> a, MatrixBatch<const A> b,
                    Wide<A> beta, MatrixBatch<C> c) {
  if constexpr (std::is_same_v<A, Bf16> || !device_is_host) {
    refused();
  } else {
    with_tags(op_a, op_b, [&](auto trans_a, auto trans_b) {
      on_thread<A, decltype(trans_a), decltype(trans_b)>(alpha, a, b, beta, c);
    });
  }
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

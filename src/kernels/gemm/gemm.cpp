#include "kernels/gemm/gemm.hpp"

#include "kernels/gemm/onednn.hpp"
#include "kernels/gemm/vendor.hpp"
#include "utils/error.hpp"

#if defined(LEXIKOS_HAVE_KOKKOS_KERNELS)
#include <KokkosBatched_Gemm_Decl.hpp>
#include <KokkosBatched_Gemm_Serial_Impl.hpp>
#include <KokkosBatched_Gemm_Team_Impl.hpp>
#include <KokkosBlas3_gemm.hpp>
#endif

namespace lexikos {
namespace {

#if defined(LEXIKOS_HAVE_KOKKOS_KERNELS)
template <class A>
inline constexpr bool in_kokkos_kernels = !std::is_same_v<A, Bf16>;
#else
template <class A>
inline constexpr bool in_kokkos_kernels = false;
#endif

template <class A>
GemmLibrary& library_in_use() {
  static GemmLibrary library = vendor::available      ? GemmLibrary::vendor
                               : onednn::has<A>()     ? GemmLibrary::onednn
                               : in_kokkos_kernels<A> ? GemmLibrary::kokkos_kernels
                                                      : GemmLibrary::loops;
  return library;
}

struct Extents {
  Index m, n, k;
};

std::string shape_text(Op op, Index rows, Index cols) {
  return "[" + std::to_string(rows) + " " + std::to_string(cols) + "]" +
         (op == Op::transpose ? "^T" : "");
}

/// Extents of the product, or an error that prints every extent.
Extents extents_of(Op op_a, Index a_rows, Index a_cols, Op op_b, Index b_rows, Index b_cols,
                   Index c_rows, Index c_cols) {
  const Extents e{op_a == Op::none ? a_rows : a_cols, op_b == Op::none ? b_cols : b_rows,
                  op_a == Op::none ? a_cols : a_rows};
  const Index inner_b = op_b == Op::none ? b_rows : b_cols;
  if (e.k != inner_b || e.m != c_rows || e.n != c_cols) {
    fail(Status::resource, "gemm: shapes do not fit: A " + shape_text(op_a, a_rows, a_cols) +
                               " B " + shape_text(op_b, b_rows, b_cols) + " C " +
                               shape_text(Op::none, c_rows, c_cols) +
                               "; this is a fault in Lexikos");
  }
  return e;
}

/// One row of C by plain loops; the sums are in Wide<A>.
template <class A, class C, class AnyLane>
KOKKOS_FUNCTION void loops_row(const AnyLane& lane, Index i, Op op_a, Op op_b, Extents e,
                               Wide<A> alpha, const A* a, const A* b, Wide<A> beta, C* c) {
  const Index a_step = op_a == Op::none ? 1 : e.m, b_step = op_b == Op::none ? e.n : 1;
  const A* const a_i = a + (op_a == Op::none ? i * e.k : i);
  C* const c_i = c + i * e.n;
  lane.for_each(e.n, [=](const Index j) {
    const A* const b_j = b + (op_b == Op::none ? j : j * e.k);
    Wide<A> sum = 0;
    for (Index l = 0; l < e.k; ++l) sum += Wide<A>(a_i[l * a_step]) * Wide<A>(b_j[l * b_step]);
    const Wide<A> before = beta == Wide<A>(0) ? Wide<A>(0) : beta * Wide<A>(c_i[j]);
    c_i[j] = C(alpha * sum + before);
  });
}

template <class A, class C>
void loops_batched(const ExecSpace& space, Op op_a, Op op_b, Extents e, Index count, Wide<A> alpha,
                   MatrixBatch<const A> a, MatrixBatch<const A> b, Wide<A> beta, MatrixBatch<C> c) {
  for_rows(
      "Lexikos::gemm::loops", space, count * e.m, KOKKOS_LAMBDA(const Lane& lane, const Index row) {
        const Index g = row / e.m;
        loops_row<A, C>(lane, row % e.m, op_a, op_b, e, alpha, a.data + g * a.stride,
                        b.data + g * b.stride, beta, c.data + g * c.stride);
      });
}

#if defined(LEXIKOS_HAVE_KOKKOS_KERNELS)
const char* letter(Op op) { return op == Op::none ? "N" : "T"; }

template <class S>
void kernels_gemm(const ExecSpace& space, Op op_a, Op op_b, S alpha, View2<const S> a,
                  View2<const S> b, S beta, View2<S> c) {
  // Kokkos Kernels before 4.0 works on the default instance only.
  if constexpr (requires { KokkosBlas::gemm(space, "N", "N", alpha, a, b, beta, c); }) {
    KokkosBlas::gemm(space, letter(op_a), letter(op_b), alpha, a, b, beta, c);
  } else {
    space.fence();
    KokkosBlas::gemm(letter(op_a), letter(op_b), alpha, a, b, beta, c);
  }
}

template <class S, class TransA, class TransB>
void kernels_batched(const ExecSpace& space, Index count, S alpha, MatrixBatch<const S> a,
                     MatrixBatch<const S> b, S beta, MatrixBatch<S> c) {
  Kokkos::parallel_for(
      "Lexikos::gemm::batched",
      Kokkos::TeamPolicy<ExecSpace>(space, static_cast<int>(count), Kokkos::AUTO),
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

template <class S>
void kernels_batched(const ExecSpace& space, Op op_a, Op op_b, Index count, S alpha,
                     MatrixBatch<const S> a, MatrixBatch<const S> b, S beta, MatrixBatch<S> c) {
  using No = KokkosBatched::Trans::NoTranspose;
  using Yes = KokkosBatched::Trans::Transpose;
  if (op_a == Op::none && op_b == Op::none) {
    kernels_batched<S, No, No>(space, count, alpha, a, b, beta, c);
  } else if (op_a == Op::none) {
    kernels_batched<S, No, Yes>(space, count, alpha, a, b, beta, c);
  } else if (op_b == Op::none) {
    kernels_batched<S, Yes, No>(space, count, alpha, a, b, beta, c);
  } else {
    kernels_batched<S, Yes, Yes>(space, count, alpha, a, b, beta, c);
  }
}

template <class S, class TransA, class TransB>
void kernels_on_thread(S alpha, MatrixBatch<const S> a, MatrixBatch<const S> b, S beta,
                       MatrixBatch<S> c) {
  KokkosBatched::SerialGemm<TransA, TransB, KokkosBatched::Algo::Gemm::Unblocked>::invoke(
      alpha, View2<const S>(a.data, a.rows, a.cols), View2<const S>(b.data, b.rows, b.cols), beta,
      View2<S>(c.data, c.rows, c.cols));
}

template <class S>
void kernels_on_thread(Op op_a, Op op_b, S alpha, MatrixBatch<const S> a, MatrixBatch<const S> b,
                       S beta, MatrixBatch<S> c) {
  using No = KokkosBatched::Trans::NoTranspose;
  using Yes = KokkosBatched::Trans::Transpose;
  if (op_a == Op::none && op_b == Op::none) {
    kernels_on_thread<S, No, No>(alpha, a, b, beta, c);
  } else if (op_a == Op::none) {
    kernels_on_thread<S, No, Yes>(alpha, a, b, beta, c);
  } else if (op_b == Op::none) {
    kernels_on_thread<S, Yes, No>(alpha, a, b, beta, c);
  } else {
    kernels_on_thread<S, Yes, Yes>(alpha, a, b, beta, c);
  }
}
#endif

template <class S>
MatrixBatch<S> alone(const View2<S>& x) {
  return {x.data(), Index(x.extent(0)), Index(x.extent(1)), 0};
}

}  // namespace

template <class A>
GemmLibrary gemm_library() {
  return library_in_use<A>();
}

template <class A>
std::string gemm_library_name() {
  switch (gemm_library<A>()) {
    case GemmLibrary::vendor:
      return vendor::name();
    case GemmLibrary::onednn:
      return onednn::name();
    case GemmLibrary::kokkos_kernels:
      return "Kokkos Kernels";
    default:
      return "plain loops, slow: this build has no library for that scalar";
  }
}

template <class A>
void use_gemm_library(GemmLibrary library) {
  if (library == GemmLibrary::vendor && !vendor::available) {
    fail(Status::resource, "gemm: this build is not for a GPU; use onednn or kokkos_kernels");
  }
  if (library == GemmLibrary::onednn && !onednn::has<A>()) {
    fail(Status::resource,
         "gemm: this build has no oneDNN for that scalar; use kokkos_kernels or loops");
  }
  if (library == GemmLibrary::kokkos_kernels && !in_kokkos_kernels<A>) {
    fail(Status::resource,
         "gemm: this build has no Kokkos Kernels for that scalar; use onednn or loops");
  }
  library_in_use<A>() = library;
}

template <class A, class C>
void gemm(const ExecSpace& space, Op op_a, Op op_b, Wide<A> alpha, View2<const A> a,
          View2<const A> b, Wide<A> beta, View2<C> c) {
  const Extents e = extents_of(op_a, a.extent(0), a.extent(1), op_b, b.extent(0), b.extent(1),
                               c.extent(0), c.extent(1));
  const Region region("Lexikos::gemm",
                      {.flops = 2.0 * e.m * e.n * e.k, .bytes = bytes_of(a, b, c)});
  if (e.m == 0 || e.n == 0) return;
  switch (gemm_library<A>()) {
    case GemmLibrary::vendor:
      vendor::gemm_batched<A, C>(space, op_a, op_b, e.m, e.n, e.k, 1, alpha, alone(a), alone(b),
                                 beta, alone(c));
      return;
    case GemmLibrary::onednn:
      space.fence();
      onednn::gemm<A, C>(op_a, op_b, e.m, e.n, e.k, alpha, a.data(), b.data(), beta, c.data());
      return;
    case GemmLibrary::kokkos_kernels:
      if constexpr (in_kokkos_kernels<A>) kernels_gemm(space, op_a, op_b, alpha, a, b, beta, c);
      return;
    case GemmLibrary::loops:
      loops_batched<A, C>(space, op_a, op_b, e, 1, alpha, alone(a), alone(b), beta, alone(c));
      return;
  }
}

template <class A, class C>
void gemm_batched(const ExecSpace& space, Op op_a, Op op_b, Index count, Wide<A> alpha,
                  MatrixBatch<const A> a, MatrixBatch<const A> b, Wide<A> beta, MatrixBatch<C> c) {
  const Extents e = extents_of(op_a, a.rows, a.cols, op_b, b.rows, b.cols, c.rows, c.cols);
  if (count == 0) return;
  if (gemm_library<A>() == GemmLibrary::vendor) {
    vendor::gemm_batched<A, C>(space, op_a, op_b, e.m, e.n, e.k, count, alpha, a, b, beta, c);
    return;
  }
  if constexpr (onednn::available) {
    if (gemm_library<A>() == GemmLibrary::onednn) {
      // Inside a parallel region oneDNN runs each product on the calling thread alone.
      Kokkos::parallel_for("Lexikos::gemm::batched",
                           Kokkos::RangePolicy<ExecSpace>(space, 0, count), [=](const Index g) {
                             onednn::gemm<A, C>(op_a, op_b, e.m, e.n, e.k, alpha,
                                                a.data + g * a.stride, b.data + g * b.stride, beta,
                                                c.data + g * c.stride);
                           });
      return;
    }
  }
  if constexpr (in_kokkos_kernels<A>) {
    if (gemm_library<A>() == GemmLibrary::kokkos_kernels) {
      kernels_batched(space, op_a, op_b, count, alpha, a, b, beta, c);
      return;
    }
  }
  loops_batched<A, C>(space, op_a, op_b, e, count, alpha, a, b, beta, c);
}

template <class A, class C>
void gemm_on_thread(Op op_a, Op op_b, Wide<A> alpha, MatrixBatch<const A> a, MatrixBatch<const A> b,
                    Wide<A> beta, MatrixBatch<C> c) {
  const Extents e = extents_of(op_a, a.rows, a.cols, op_b, b.rows, b.cols, c.rows, c.cols);
  if constexpr (!device_is_host) {
    fail(Status::resource,
         "gemm: a product on a host thread, of device memory; a fault in Lexikos");
  } else {
    if (gemm_library<A>() == GemmLibrary::onednn) {
      onednn::gemm<A, C>(op_a, op_b, e.m, e.n, e.k, alpha, a.data, b.data, beta, c.data);
      return;
    }
    if constexpr (in_kokkos_kernels<A>) {
      if (gemm_library<A>() == GemmLibrary::kokkos_kernels) {
        kernels_on_thread(op_a, op_b, alpha, a, b, beta, c);
        return;
      }
    }
    for (Index i = 0; i < e.m; ++i) {
      loops_row<A, C>(HostLane{}, i, op_a, op_b, e, alpha, a.data, b.data, beta, c.data);
    }
  }
}

#define LEXIKOS_GEMM_LIBRARY(A)                \
  template GemmLibrary gemm_library<A>();      \
  template std::string gemm_library_name<A>(); \
  template void use_gemm_library<A>(GemmLibrary);
#define LEXIKOS_GEMM(A, C)                                                                         \
  template void gemm<A, C>(const ExecSpace&, Op, Op, Wide<A>, View2<const A>, View2<const A>,      \
                           Wide<A>, View2<C>);                                                     \
  template void gemm_batched<A, C>(const ExecSpace&, Op, Op, Index, Wide<A>, MatrixBatch<const A>, \
                                   MatrixBatch<const A>, Wide<A>, MatrixBatch<C>);                 \
  template void gemm_on_thread<A, C>(Op, Op, Wide<A>, MatrixBatch<const A>, MatrixBatch<const A>,  \
                                     Wide<A>, MatrixBatch<C>);
LEXIKOS_GEMM_LIBRARY(float)
LEXIKOS_GEMM_LIBRARY(double)
LEXIKOS_GEMM_LIBRARY(Bf16)
LEXIKOS_GEMM(float, float)
LEXIKOS_GEMM(double, double)
LEXIKOS_GEMM(Bf16, Bf16)
LEXIKOS_GEMM(Bf16, float)
#undef LEXIKOS_GEMM_LIBRARY
#undef LEXIKOS_GEMM

}  // namespace lexikos

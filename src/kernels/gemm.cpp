#include "kernels/gemm.hpp"

#include "kernels/gemm_vendor.hpp"
#include "utils/error.hpp"

// Defined by the build, which requires the library; only the compile checks of tests/portability/
// go without it.
#if defined(LEXIKOS_HAVE_KOKKOS_KERNELS)
#include <KokkosBatched_Gemm_Decl.hpp>
#include <KokkosBatched_Gemm_Serial_Impl.hpp>
#include <KokkosBatched_Gemm_Team_Impl.hpp>
#include <KokkosBlas3_gemm.hpp>
#endif

#if defined(LEXIKOS_HAVE_ONEDNN)
#include <oneapi/dnnl/dnnl.h>
#endif

namespace lexikos {
namespace {

#if defined(LEXIKOS_HAVE_ONEDNN)
inline constexpr bool have_onednn = device_is_host;
#else
inline constexpr bool have_onednn = false;
#endif

template <class S>
GemmLibrary& library_in_use() {
  static GemmLibrary library = vendor::available ? GemmLibrary::vendor
                               : have_onednn && std::is_same_v<S, float>
                                   ? GemmLibrary::onednn
                                   : GemmLibrary::kokkos_kernels;
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

#if defined(LEXIKOS_HAVE_ONEDNN)
void onednn_gemm(Op op_a, Op op_b, Extents e, float alpha, const float* a, Index a_cols,
                 const float* b, Index b_cols, float beta, float* c) {
  const auto status =
      dnnl_sgemm(op_a == Op::none ? 'N' : 'T', op_b == Op::none ? 'N' : 'T', e.m, e.n, e.k, alpha,
                 a, a_cols, b, b_cols, beta, c, e.n);
  if (status != dnnl_success) fail(Status::resource, "gemm: oneDNN refused a product");
}
#endif

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
#else
template <class... Arguments>
void kernels_gemm(const Arguments&...) {
  fail(Status::resource, "gemm: compiled without Kokkos Kernels; a compile check, not a build");
}
template <class... Arguments>
void kernels_batched(const Arguments&...) {
  kernels_gemm();
}
template <class... Arguments>
void kernels_on_thread(const Arguments&...) {
  kernels_gemm();
}
#endif

}  // namespace

template <class S>
GemmLibrary gemm_library() {
  return library_in_use<S>();
}

template <class S>
std::string gemm_library_name() {
  if (gemm_library<S>() == GemmLibrary::vendor) return vendor::name();
  if (gemm_library<S>() == GemmLibrary::onednn) {
#if defined(LEXIKOS_HAVE_ONEDNN)
    const dnnl_version_t* v = dnnl_version();
    return "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
           std::to_string(v->patch);
#endif
  }
  return "Kokkos Kernels";
}

template <class S>
void use_gemm_library(GemmLibrary library) {
  if (library == GemmLibrary::vendor && !vendor::available) {
    fail(Status::resource, "gemm: this build is not for a GPU; use onednn or kokkos_kernels");
  }
  if (library == GemmLibrary::onednn && !(have_onednn && std::is_same_v<S, float>)) {
    fail(Status::resource,
         "gemm: this build has no oneDNN for that scalar; use kokkos_kernels or install oneDNN");
  }
  library_in_use<S>() = library;
}

template <class S>
void gemm(const ExecSpace& space, Op op_a, Op op_b, S alpha, View2<const S> a, View2<const S> b,
          S beta, View2<S> c) {
  [[maybe_unused]] const Extents e =
      extents_of(op_a, a.extent(0), a.extent(1), op_b, b.extent(0), b.extent(1), c.extent(0),
                 c.extent(1));
  if (e.m == 0 || e.n == 0) return;
  if (gemm_library<S>() == GemmLibrary::vendor) {
    vendor::gemm_batched<S>(space, op_a, op_b, e.m, e.n, e.k, 1, alpha,
                            {a.data(), Index(a.extent(0)), Index(a.extent(1)), 0},
                            {b.data(), Index(b.extent(0)), Index(b.extent(1)), 0}, beta,
                            {c.data(), Index(c.extent(0)), Index(c.extent(1)), 0});
    return;
  }
#if defined(LEXIKOS_HAVE_ONEDNN)
  if constexpr (have_onednn && std::is_same_v<S, float>) {
    if (gemm_library<S>() == GemmLibrary::onednn) {
      space.fence();
      onednn_gemm(op_a, op_b, e, alpha, a.data(), a.extent(1), b.data(), b.extent(1), beta,
                  c.data());
      return;
    }
  }
#endif
  kernels_gemm(space, op_a, op_b, alpha, a, b, beta, c);
}

template <class S>
void gemm_batched(const ExecSpace& space, Op op_a, Op op_b, Index count, S alpha,
                  MatrixBatch<const S> a, MatrixBatch<const S> b, S beta, MatrixBatch<S> c) {
  [[maybe_unused]] const Extents e =
      extents_of(op_a, a.rows, a.cols, op_b, b.rows, b.cols, c.rows, c.cols);
  if (count == 0) return;
  if (gemm_library<S>() == GemmLibrary::vendor) {
    vendor::gemm_batched<S>(space, op_a, op_b, e.m, e.n, e.k, count, alpha, a, b, beta, c);
    return;
  }
#if defined(LEXIKOS_HAVE_ONEDNN)
  if constexpr (have_onednn && std::is_same_v<S, float>) {
    if (gemm_library<S>() == GemmLibrary::onednn) {
      // Inside a parallel region oneDNN runs each product on the calling thread alone.
      Kokkos::parallel_for(
          "Lexikos::gemm::batched", Kokkos::RangePolicy<ExecSpace>(space, 0, count),
          [=](const Index g) {
            onednn_gemm(op_a, op_b, e, alpha, a.data + g * a.stride, a.cols,
                        b.data + g * b.stride, b.cols, beta, c.data + g * c.stride);
          });
      return;
    }
  }
#endif
  kernels_batched(space, op_a, op_b, count, alpha, a, b, beta, c);
}

template <class S>
void gemm_on_thread(Op op_a, Op op_b, S alpha, MatrixBatch<const S> a, MatrixBatch<const S> b,
                    S beta, MatrixBatch<S> c) {
  [[maybe_unused]] const Extents e =
      extents_of(op_a, a.rows, a.cols, op_b, b.rows, b.cols, c.rows, c.cols);
  if constexpr (!device_is_host) {
    fail(Status::resource, "gemm: a product on a host thread, of device memory; a fault in Lexikos");
  } else {
#if defined(LEXIKOS_HAVE_ONEDNN)
    if constexpr (std::is_same_v<S, float>) {
      if (gemm_library<S>() == GemmLibrary::onednn) {
        onednn_gemm(op_a, op_b, e, alpha, a.data, a.cols, b.data, b.cols, beta, c.data);
        return;
      }
    }
#endif
    kernels_on_thread(op_a, op_b, alpha, a, b, beta, c);
  }
}

#define LEXIKOS_GEMM(S)                                                                        \
  template GemmLibrary gemm_library<S>();                                                      \
  template std::string gemm_library_name<S>();                                                 \
  template void use_gemm_library<S>(GemmLibrary);                                              \
  template void gemm<S>(const ExecSpace&, Op, Op, S, View2<const S>, View2<const S>, S,        \
                        View2<S>);                                                             \
  template void gemm_batched<S>(const ExecSpace&, Op, Op, Index, S, MatrixBatch<const S>,      \
                                MatrixBatch<const S>, S, MatrixBatch<S>);                      \
  template void gemm_on_thread<S>(Op, Op, S, MatrixBatch<const S>, MatrixBatch<const S>, S,    \
                                  MatrixBatch<S>);
LEXIKOS_GEMM(float)
LEXIKOS_GEMM(double)
#undef LEXIKOS_GEMM

}  // namespace lexikos

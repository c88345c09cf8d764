#include "kernels/gemm/gemm.hpp"

#include <algorithm>
#include <iterator>

#include "kernels/gemm/kokkos_kernels.hpp"
#include "kernels/gemm/onednn.hpp"
#include "kernels/gemm/vendor.hpp"
#include "kernels/gemm/widened.hpp"
#include "utils/error.hpp"

namespace lexikos {
namespace {

template <class A>
bool has(GemmLibrary library) {
  switch (library) {
    case GemmLibrary::vendor:
      return vendor::available();
    case GemmLibrary::onednn:
      return onednn::has<A>();
    case GemmLibrary::widened:
      return device_is_host && std::is_same_v<A, Bf16>;
    case GemmLibrary::kokkos_kernels:
      return kokkos_kernels::has<A>();
    default:
      return true;
  }
}

const char* name_of(GemmLibrary library) {
  switch (library) {
    case GemmLibrary::vendor:
      return "vendor";
    case GemmLibrary::onednn:
      return "onednn";
    case GemmLibrary::widened:
      return "widened";
    case GemmLibrary::kokkos_kernels:
      return "kokkos_kernels";
    default:
      return "loops";
  }
}

/// The fastest first.
constexpr GemmLibrary all_libraries[] = {GemmLibrary::vendor, GemmLibrary::onednn,
                                         GemmLibrary::widened, GemmLibrary::kokkos_kernels,
                                         GemmLibrary::loops};

template <class A>
GemmLibrary& library_in_use() {
  static GemmLibrary library =
      *std::find_if(std::begin(all_libraries), std::end(all_libraries), has<A>);
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

template <class A, class C>
void onednn_batched(Op op_a, Op op_b, Extents e, Index count, Wide<A> alpha, MatrixBatch<const A> a,
                    MatrixBatch<const A> b, Wide<A> beta, MatrixBatch<C> c) {
  // Inside a parallel region oneDNN runs each product on the calling thread only.
  using Host = Kokkos::DefaultHostExecutionSpace;
  Kokkos::parallel_for("Lexikos::gemm::batched",
                       Kokkos::RangePolicy<Host, Kokkos::IndexType<Index>>(0, count),
                       [=](const Index g) {
                         onednn::gemm<A, C>(op_a, op_b, e.m, e.n, e.k, alpha, a.data + g * a.stride,
                                            b.data + g * b.stride, beta, c.data + g * c.stride);
                       });
  Host().fence();
}

/// Widened products; nothing is chosen so for other factors than bf16.
template <class A, class C>
void widened_batched(Op op_a, Op op_b, Extents e, Index count, Wide<A> alpha,
                     MatrixBatch<const A> a, MatrixBatch<const A> b, Wide<A> beta,
                     MatrixBatch<C> c) {
  if constexpr (std::is_same_v<A, Bf16>) {
    widened::gemm_batched<C>(op_a, op_b, e.m, e.n, e.k, count, alpha, a, b, beta, c);
  }
}

template <class A, class C>
void widened_on_thread(Op op_a, Op op_b, Extents e, Wide<A> alpha, MatrixBatch<const A> a,
                       MatrixBatch<const A> b, Wide<A> beta, MatrixBatch<C> c) {
  if constexpr (std::is_same_v<A, Bf16>) {
    widened::gemm_on_thread<C>(op_a, op_b, e.m, e.n, e.k, alpha, a.data, b.data, beta, c.data);
  }
}

template <class S>
MatrixBatch<S> single(const View2<S>& x) {
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
    case GemmLibrary::widened:
      return "widened to fp32, " + gemm_library_name<float>();
    default:
      return "plain loops, slow: this build has no library for that scalar";
  }
}

template <class A>
void use_gemm_library(GemmLibrary library) {
  if (!has<A>(library)) {
    std::string there;
    for (const GemmLibrary other : all_libraries) {
      if (has<A>(other)) there += std::string(there.empty() ? "" : ", ") + name_of(other);
    }
    fail(Status::resource, std::string("gemm: ") + name_of(library) +
                               " has no products of that scalar here; there are: " + there);
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
      vendor::gemm_batched<A, C>(space, op_a, op_b, e.m, e.n, e.k, 1, alpha, single(a), single(b),
                                 beta, single(c));
      return;
    case GemmLibrary::onednn:
      space.fence();
      onednn::gemm<A, C>(op_a, op_b, e.m, e.n, e.k, alpha, a.data(), b.data(), beta, c.data());
      return;
    case GemmLibrary::widened:
      space.fence();
      widened_batched<A, C>(op_a, op_b, e, 1, alpha, single(a), single(b), beta, single(c));
      return;
    case GemmLibrary::kokkos_kernels:
      kokkos_kernels::gemm<A, C>(space, op_a, op_b, alpha, a, b, beta, c);
      return;
    case GemmLibrary::loops:
      loops_batched<A, C>(space, op_a, op_b, e, 1, alpha, single(a), single(b), beta, single(c));
      return;
  }
}

template <class A, class C>
void gemm_batched(const ExecSpace& space, Op op_a, Op op_b, Index count, Wide<A> alpha,
                  MatrixBatch<const A> a, MatrixBatch<const A> b, Wide<A> beta, MatrixBatch<C> c) {
  const Extents e = extents_of(op_a, a.rows, a.cols, op_b, b.rows, b.cols, c.rows, c.cols);
  if (count == 0) return;
  switch (gemm_library<A>()) {
    case GemmLibrary::vendor:
      vendor::gemm_batched<A, C>(space, op_a, op_b, e.m, e.n, e.k, count, alpha, a, b, beta, c);
      return;
    case GemmLibrary::onednn:
      space.fence();
      onednn_batched<A, C>(op_a, op_b, e, count, alpha, a, b, beta, c);
      return;
    case GemmLibrary::widened:
      space.fence();
      widened_batched<A, C>(op_a, op_b, e, count, alpha, a, b, beta, c);
      return;
    case GemmLibrary::kokkos_kernels:
      kokkos_kernels::gemm_batched<A, C>(space, op_a, op_b, count, alpha, a, b, beta, c);
      return;
    case GemmLibrary::loops:
      loops_batched<A, C>(space, op_a, op_b, e, count, alpha, a, b, beta, c);
      return;
  }
}

template <class A, class C>
void gemm_on_thread(Op op_a, Op op_b, Wide<A> alpha, MatrixBatch<const A> a, MatrixBatch<const A> b,
                    Wide<A> beta, MatrixBatch<C> c) {
  const Extents e = extents_of(op_a, a.rows, a.cols, op_b, b.rows, b.cols, c.rows, c.cols);
  if constexpr (!device_is_host) {
    fail(Status::resource,
         "gemm: a product on a host thread, of device memory; a fault in Lexikos");
  } else {
    const GemmLibrary library = gemm_library<A>();
    if (library == GemmLibrary::onednn) {
      onednn::gemm<A, C>(op_a, op_b, e.m, e.n, e.k, alpha, a.data, b.data, beta, c.data);
    } else if (library == GemmLibrary::kokkos_kernels) {
      kokkos_kernels::gemm_on_thread<A, C>(op_a, op_b, alpha, a, b, beta, c);
    } else if (library == GemmLibrary::widened) {
      widened_on_thread<A, C>(op_a, op_b, e, alpha, a, b, beta, c);
    } else {
      for (Index i = 0; i < e.m; ++i) {
        loops_row<A, C>(HostLane{}, i, op_a, op_b, e, alpha, a.data, b.data, beta, c.data);
      }
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

#include "kernels/gram.hpp"

#include <algorithm>

#include "kernels/gemm/gemm.hpp"

namespace lexikos {
namespace {

using Host = Kokkos::DefaultHostExecutionSpace;
using HostRange =
    Kokkos::RangePolicy<Host, Kokkos::Schedule<Kokkos::Dynamic>, Kokkos::IndexType<Index>>;

// Vectors of the compiler, so that the block of sums stays in registers: 8 x 24 with 512 bits.
#if defined(__AVX512F__)
constexpr int lanes = 8, block_rows = 8;
#else
constexpr int lanes = 4, block_rows = 4;
#endif
constexpr int vectors = 3;
constexpr int strip = lanes * vectors;  // columns that are packed together
static_assert(strip % block_rows == 0);
typedef double Vector __attribute__((vector_size(lanes * sizeof(double))));

/// sums[i][j] = sum over k < count of a[k][i] b[k][j]; a and b are packed, `strip` values a row.
void block_product(const double* a, const double* b, Index count,
                   Vector (&sums)[block_rows][vectors]) {
  for (auto& row : sums) {
    for (Vector& v : row) v = Vector{};
  }
  for (Index k = 0; k < count; ++k, a += strip, b += strip) {
    Vector right[vectors];
    for (int v = 0; v < vectors; ++v) __builtin_memcpy(&right[v], b + v * lanes, sizeof(Vector));
    for (int i = 0; i < block_rows; ++i) {
      for (int v = 0; v < vectors; ++v) sums[i][v] += a[i] * right[v];
    }
  }
}

/// Rows [first, first + block_rows) of G against the columns of strip `right`.
void update_block(const double* left, const double* right, Index count, Index first, Index column,
                  Index width, double* gram) {
  Vector sums[block_rows][vectors];
  block_product(left, right, count, sums);
  const Index columns = std::min<Index>(strip, width - column);
  for (int i = 0; i < block_rows && first + i < width; ++i) {
    double* out = gram + (first + i) * width + column;
    const double* in = reinterpret_cast<const double*>(sums[i]);
    for (Index j = 0; j < columns; ++j) out[j] += in[j];
  }
}

/// packed [strips][count][strip] from rows [count width]; columns past the width are zero.
void pack(const double* rows, Index count, Index width, Index strips, double* packed) {
  Kokkos::parallel_for("Lexikos::gram::pack", HostRange(0, strips), [=](const Index s) {
    const Index begin = s * strip, columns = std::min<Index>(strip, width - begin);
    double* out = packed + s * count * strip;
    for (Index k = 0; k < count; ++k, out += strip) {
      const double* in = rows + k * width + begin;
      for (Index j = 0; j < strip; ++j) out[j] = j < columns ? in[j] : 0.0;
    }
  });
}

}  // namespace

GramSum::GramSum(Index width, Index panel_rows)
    : width_(width),
      strips_((width + strip - 1) / strip),
      gram_("Lexikos::gram::sums", width * width),
      packed_(without_initializing("Lexikos::gram::panel"),
              panel_rows * (device_is_host ? strips_ * strip : width)),
      mirror_(Kokkos::create_mirror_view(Kokkos::HostSpace(), gram_)) {}

void GramSum::add_on_host(const double* rows, Index count) {
  const Index width = width_, strips = strips_;
  double* packed = packed_.data();
  double* gram = gram_.data();
  pack(rows, count, width, strips, packed);
  // A task is a strip of rows of G; the long ones come first.
  Kokkos::parallel_for("Lexikos::gram::add", HostRange(0, strips), [=](const Index s) {
    const double* left = packed + s * count * strip;
    for (Index t = s; t < strips; ++t) {
      const double* right = packed + t * count * strip;
      for (int i = 0; i < strip; i += block_rows) {
        update_block(left + i, right, count, s * strip + i, t * strip, width, gram);
      }
    }
  });
}

void GramSum::add(const double* rows, Index count) {
  if constexpr (device_is_host) {
    add_on_host(rows, count);
  } else {
    const ExecSpace space;
    const Kokkos::View<const double*, Kokkos::HostSpace, Window> from(rows, count * width_);
    Kokkos::deep_copy(View1<double>(packed_.data(), count * width_), from);
    const View2<const double> panel(packed_.data(), count, width_);
    gemm<double>(space, Op::transpose, Op::none, 1.0, panel, panel, 1.0,
                 View2<double>(gram_.data(), width_, width_));
    space.fence();
  }
}

double* GramSum::to_host() {
  Kokkos::deep_copy(mirror_, gram_);
  return mirror_.data();
}

void GramSum::from_host() { Kokkos::deep_copy(gram_, mirror_); }

double* GramSum::whole() {
  double* gram = to_host();
  const Index width = width_;
  Kokkos::parallel_for("Lexikos::gram::mirror", HostRange(0, width), [=](const Index i) {
    for (Index j = i + 1; j < width; ++j) gram[j * width + i] = gram[i * width + j];
  });
  Host().fence();
  return gram;
}

double GramSum::square_sum() {
  const double* gram = to_host();
  const Index width = width_;
  double sum = 0;
  Kokkos::parallel_reduce(
      "Lexikos::gram::square_sum", Kokkos::RangePolicy<Host, Kokkos::IndexType<Index>>(0, width),
      [=](const Index i, double& part) {
        const double* row = gram + i * width;
        double above = 0;
        LEXIKOS_SIMD_SUM(above)
        for (Index j = i + 1; j < width; ++j) above += row[j] * row[j];
        part += row[i] * row[i] + 2 * above;
      },
      sum);
  return sum;
}

}  // namespace lexikos

#include "kernels/gemm/widened.hpp"

#include <algorithm>
#include <vector>

namespace lexikos::widened {
namespace {

// A tile of C has at most tile x tile elements, and is summed over panels of at most `panel` of the
// inner extent. With these a thread's workspace stays in its second cache, and an element that is
// widened takes part in some hundred multiplications.
constexpr Index tile = 256, panel = 384, smallest_tile = 64;

/// What one thread keeps: 1.1 MB.
struct Workspace {
  std::vector<float> a = std::vector<float>(tile * panel);
  std::vector<float> b = std::vector<float>(panel * tile);
  std::vector<float> c = std::vector<float>(tile * tile);
};

Workspace& workspace() {
  thread_local Workspace mine;
  return mine;
}

/// A stored matrix of which op is taken; `width` elements a row.
struct Stored {
  Op op;
  const Bf16* data;
  Index width;
};

/// Rows [row, row + rows) and columns [col, col + cols) of op(x), widened. They stand in `to` in
/// the order of x: [rows cols], or [cols rows] where op is a transposition.
MatrixBatch<const float> widen(const Stored& x, Index row, Index rows, Index col, Index cols,
                               float* to) {
  if (x.op == Op::transpose) {
    std::swap(row, col);
    std::swap(rows, cols);
  }
  for (Index i = 0; i < rows; ++i) {
    const Bf16* const from = x.data + (row + i) * x.width + col;
    float* const to_row = to + i * cols;
    LEXIKOS_SIMD
    for (Index j = 0; j < cols; ++j) to_row[j] = from[j];
  }
  return {to, rows, cols, 0};
}

/// Extents of a product, and of its tiles.
struct Plan {
  Index m, n, k, tile_m, tile_n, tiles_m, tiles_n;

  Index tiles() const { return tiles_m * tiles_n; }
};

/// Pieces of at most `most` that are nearly equal, in whole vectors.
Index even(Index extent, Index most) {
  const Index pieces = (extent + most - 1) / most, each = (extent + pieces - 1) / pieces;
  return std::min<Index>(most, (each + 15) / 16 * 16);
}

/// Tiles that occupy `threads` in `count` products, as far as tiles of a useful size do.
Plan plan(Index m, Index n, Index k, Index count, Index threads) {
  Index most_m = tile, most_n = tile;
  for (;;) {
    const Index tile_m = even(m, most_m), tile_n = even(n, most_n);
    const Plan p{m, n, k, tile_m, tile_n, (m + tile_m - 1) / tile_m, (n + tile_n - 1) / tile_n};
    if (p.tiles() * count >= threads || std::max(tile_m, tile_n) <= smallest_tile) return p;
    (tile_m >= tile_n ? most_m : most_n) = std::max(tile_m, tile_n) / 2;
  }
}

/// c = C(alpha sum + beta c), row by row, of a tile that stands in rows of `width`.
template <class C>
void finish(const float* sum, Index rows, Index cols, float alpha, float beta, C* c, Index width) {
  for (Index i = 0; i < rows; ++i) {
    const float* const from = sum + i * cols;
    C* const to = c + i * width;
    if (beta == 0) {
      LEXIKOS_SIMD
      for (Index j = 0; j < cols; ++j) to[j] = C(alpha * from[j]);
    } else {
      LEXIKOS_SIMD
      for (Index j = 0; j < cols; ++j) to[j] = C(alpha * from[j] + beta * float(to[j]));
    }
  }
}

/// Tile t of the product. A tile in fp32 as wide as C is summed where it stands.
template <class C>
void multiply_tile(const Plan& p, Index t, const Stored& a, const Stored& b, float alpha,
                   float beta, C* c) {
  Workspace& work = workspace();
  const Index i = t / p.tiles_n * p.tile_m, j = t % p.tiles_n * p.tile_n;
  const Index rows = std::min(p.tile_m, p.m - i), cols = std::min(p.tile_n, p.n - j);
  C* const c_tile = c + i * p.n + j;
  float* sum = work.c.data();
  bool in_place = false;
  if constexpr (std::is_same_v<C, float>) {
    in_place = cols == p.n;
    if (in_place) sum = c_tile;
  }
  const float factor = in_place ? alpha : 1.0f, first = in_place ? beta : 0.0f;
  for (Index l = 0; l == 0 || l < p.k; l += panel) {
    const Index depth = std::min(panel, p.k - l);
    lexikos::gemm_on_thread<float, float>(
        a.op, b.op, factor, widen(a, i, rows, l, depth, work.a.data()),
        widen(b, l, depth, j, cols, work.b.data()), l == 0 ? first : 1.0f, {sum, rows, cols, 0});
  }
  if (!in_place) finish(sum, rows, cols, alpha, beta, c_tile, p.n);
}

}  // namespace

template <class C>
void gemm_batched(Op op_a, Op op_b, Index m, Index n, Index k, Index count, float alpha,
                  MatrixBatch<const Bf16> a, MatrixBatch<const Bf16> b, float beta,
                  MatrixBatch<C> c) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  using Range =
      Kokkos::RangePolicy<Host, Kokkos::Schedule<Kokkos::Dynamic>, Kokkos::IndexType<Index>>;
  const Plan p = plan(m, n, k, count, Host().concurrency());
  Kokkos::parallel_for("Lexikos::gemm::widened", Range(0, count * p.tiles()), [=](const Index w) {
    const Index g = w / p.tiles();
    multiply_tile(p, w % p.tiles(), {op_a, a.data + g * a.stride, a.cols},
                  {op_b, b.data + g * b.stride, b.cols}, alpha, beta, c.data + g * c.stride);
  });
  Host().fence();
}

template <class C>
void gemm_on_thread(Op op_a, Op op_b, Index m, Index n, Index k, float alpha, const Bf16* a,
                    const Bf16* b, float beta, C* c) {
  const Plan p = plan(m, n, k, 1, 1);
  const Stored stored_a{op_a, a, op_a == Op::none ? k : m};
  const Stored stored_b{op_b, b, op_b == Op::none ? n : k};
  for (Index t = 0; t < p.tiles(); ++t) multiply_tile(p, t, stored_a, stored_b, alpha, beta, c);
}

#define LEXIKOS_WIDENED_GEMM(C)                                                                 \
  template void gemm_batched<C>(Op, Op, Index, Index, Index, Index, float,                      \
                                MatrixBatch<const Bf16>, MatrixBatch<const Bf16>, float,        \
                                MatrixBatch<C>);                                                \
  template void gemm_on_thread<C>(Op, Op, Index, Index, Index, float, const Bf16*, const Bf16*, \
                                  float, C*);
LEXIKOS_WIDENED_GEMM(Bf16)
LEXIKOS_WIDENED_GEMM(float)
#undef LEXIKOS_WIDENED_GEMM

}  // namespace lexikos::widened

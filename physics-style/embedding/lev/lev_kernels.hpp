// The kernels of LEV. Shapes: U distinct tokens, k codebooks of b rows, seed width d, h heads,
// kappa knots, rank r. Arrays [U h d] and [U h r] hold the heads side by side in each row.
#pragma once

#include "embedding/codebooks.hpp"
#include "embedding/lev/scaled_product.hpp"
#include "embedding/lev/spline.hpp"
#include "kernels/elementary.hpp"
#include "kokkos_types.hpp"

namespace lexikos::lev {

inline constexpr double norm_epsilon = 1e-5;

struct Sizes {
  Codebooks books;
  Index seed_width, heads, knots, rank;
};

/// The heads' coordinates. Reads rows [k b, h d] (W_l C_j), digit [U k], gain and bias [h d];
/// overwrites normal [U h d] (LN before gain and bias), rstd [U h], s [U h d].
template <class S>
void coordinates(const ExecSpace& space, Sizes z, View2<const std::int32_t> digit,
                 View2<const S> rows, View1<const S> gain, View1<const S> bias, View2<S> normal,
                 View2<S> rstd, View2<S> s) {
  const Index d = z.seed_width;
  const Index stride = z.heads * d;
  for_rows(
      "Lexikos::lev::coordinates", space, digit.extent(0) * z.heads,
      KOKKOS_LAMBDA(const Lane& lane, const Index i) {
        const Index u = i / z.heads, l = i % z.heads;
        const std::int32_t* const row_of = digit.data() + u * z.books.count;
        const S* const from = rows.data() + l * d;
        S* const x = normal.data() + u * stride + l * d;
        S* const s_row = s.data() + u * stride + l * d;
        const S* const g = gain.data() + l * d;
        const S* const b = bias.data() + l * d;
        const Index first = row_of[0] * stride;
        lane.for_each(d, [=](const Index c) { x[c] = from[first + c]; });
        for (Index j = 1; j < z.books.count; ++j) {
          const Index at = row_of[j] * stride;
          lane.for_each(d, [=](const Index c) { x[c] += from[at + c]; });
        }
        const S mean = lane.template sum<S>(d, [=](const Index c) { return x[c]; }) / S(d);
        const S variance = lane.template sum<S>(d, [=](const Index c) {
          return (x[c] - mean) * (x[c] - mean);
        }) / S(d);
        const S r = S(1) / ::sqrt(variance + S(norm_epsilon));
        lane.for_each(d, [=](const Index c) {
          x[c] = (x[c] - mean) * r;
          s_row[c] = sigmoid(S(0.5) * (x[c] * g[c] + b[c]));
        });
        lane.once([=]() { rstd.data()[i] = r; });
      });
}

/// How tokens are shared among tasks: task (chunk, head) works through the tokens of its chunk.
struct Chunks {
  Index count, tokens;
  KOKKOS_INLINE_FUNCTION Index begin(Index chunk) const { return chunk * tokens / count; }
  KOKKOS_INLINE_FUNCTION Index end(Index chunk) const { return (chunk + 1) * tokens / count; }
};

/// M[u l q] = product over d of phi. Reads s [U h d], spline [h d kappa r]; overwrites
/// product [U h r] and running [chunks h, 2 r] (workspace). The product runs in double, its power of
/// two apart, so that only the whole can be too small or too large for a number.
template <class S>
void products(const ExecSpace& space, Sizes z, Chunks chunks, View2<const S> s,
              const S* spline, View2<S> product, double* running) {
  const Index d = z.seed_width, r = z.rank, kappa = z.knots;
  for_rows(
      "Lexikos::lev::products", space, chunks.count * z.heads,
      KOKKOS_LAMBDA(const Lane& lane, const Index task) {
        const Index l = task % z.heads;
        double* const value = running + task * 2 * r;
        double* const exponent = value + r;
        const S* const table = spline + l * d * kappa * r;
        for (Index u = chunks.begin(task / z.heads); u < chunks.end(task / z.heads); ++u) {
          const S* const s_row = s.data() + (u * z.heads + l) * d;
          lane.for_each(r, [=](const Index q) {
            value[q] = 1.0;
            exponent[q] = 0.0;
          });
          for (Index c = 0; c < d; ++c) {
            const Knots<S> k = knots_at(s_row[c], kappa);
            const S* const t0 = table + (c * kappa + k.index[0]) * r;
            const S* const t1 = table + (c * kappa + k.index[1]) * r;
            const S* const t2 = table + (c * kappa + k.index[2]) * r;
            const S w0 = k.weight[0], w1 = k.weight[1], w2 = k.weight[2];
            lane.for_each(r, [=](const Index q) {
              value[q] *= static_cast<double>(w0 * t0[q] + w1 * t1[q] + w2 * t2[q]);
            });
            if ((c + 1) % factors_between<S> == 0) {
              lane.for_each(r, [=](const Index q) { exponent[q] += normalise(value[q]); });
            }
          }
          S* const to = product.data() + (u * z.heads + l) * r;
          lane.for_each(r, [=](const Index q) {
            to[q] = static_cast<S>(scale(value[q], exponent[q]));
          });
        }
      });
}

/// Elements of double that products_gradient needs as workspace: for each task, products before
/// each factor and after it, and the powers of two of both.
inline Index gradient_workspace(Sizes z, Index chunks) {
  return chunks * z.heads * 2 * (z.seed_width + 2) * z.rank;
}

/// The gradient of `products`: no division, so a factor may be zero. Reads s, spline,
/// dproduct [U h r]; overwrites ds [U h d] and the workspaces; adds to slab [chunks, h d kappa r].
/// prefix: gradient_workspace() doubles. phi: [chunks h, d r].
template <class S>
void products_gradient(const ExecSpace& space, Sizes z, Chunks chunks, View2<const S> s,
                       const S* spline, View2<const S> dproduct, View2<S> ds, S* slab,
                       double* prefix, S* phi) {
  const Index d = z.seed_width, r = z.rank, kappa = z.knots;
  for_rows(
      "Lexikos::lev::products_gradient", space, chunks.count * z.heads,
      KOKKOS_LAMBDA(const Lane& lane, const Index task) {
        const Index l = task % z.heads, chunk = task / z.heads;
        // Products of the factors before c [d + 1, r] and after c [r], and their powers of two.
        double* const before = prefix + task * 2 * (d + 2) * r;
        double* const after = before + (d + 1) * r;
        double* const before_exponent = after + r;
        double* const after_exponent = before_exponent + (d + 1) * r;
        S* const factor = phi + task * d * r;
        const S* const table = spline + l * d * kappa * r;
        S* const dtable = slab + (chunk * z.heads + l) * d * kappa * r;
        for (Index u = chunks.begin(chunk); u < chunks.end(chunk); ++u) {
          const S* const s_row = s.data() + (u * z.heads + l) * d;
          S* const ds_row = ds.data() + (u * z.heads + l) * d;
          const S* const dm = dproduct.data() + (u * z.heads + l) * r;
          lane.for_each(r, [=](const Index q) {
            before[q] = 1.0;
            before_exponent[q] = 0.0;
            after[q] = static_cast<double>(dm[q]);
            after_exponent[q] = normalise(after[q]);
          });
          for (Index c = 0; c < d; ++c) {
            const Knots<S> k = knots_at(s_row[c], kappa);
            const S* const t0 = table + (c * kappa + k.index[0]) * r;
            const S* const t1 = table + (c * kappa + k.index[1]) * r;
            const S* const t2 = table + (c * kappa + k.index[2]) * r;
            const S w0 = k.weight[0], w1 = k.weight[1], w2 = k.weight[2];
            const double* const now = before + c * r;
            double* const next = before + (c + 1) * r;
            const double* const now_exponent = before_exponent + c * r;
            double* const next_exponent = before_exponent + (c + 1) * r;
            S* const f = factor + c * r;
            lane.for_each(r, [=](const Index q) {
              f[q] = w0 * t0[q] + w1 * t1[q] + w2 * t2[q];
              next[q] = now[q] * static_cast<double>(f[q]);
              next_exponent[q] = now_exponent[q];
            });
            if ((c + 1) % factors_between<S> == 0) {
              lane.for_each(r, [=](const Index q) { next_exponent[q] += normalise(next[q]); });
            }
          }
          for (Index c = d - 1; c >= 0; --c) {
            const Knots<S> k = knots_at(s_row[c], kappa);
            const Index i0 = (c * kappa + k.index[0]) * r, i1 = (c * kappa + k.index[1]) * r,
                        i2 = (c * kappa + k.index[2]) * r;
            const S w0 = k.weight[0], w1 = k.weight[1], w2 = k.weight[2];
            const S v0 = k.slope[0], v1 = k.slope[1], v2 = k.slope[2];
            const double* const now = before + c * r;
            const double* const now_exponent = before_exponent + c * r;
            S* const f = factor + c * r;
            // f becomes the gradient of this factor; `after` takes the factor up.
            lane.for_each(r, [=](const Index q) {
              const S gradient = static_cast<S>(
                  scale(now[q] * after[q], now_exponent[q] + after_exponent[q]));
              after[q] *= static_cast<double>(f[q]);
              f[q] = gradient;
            });
            if (c % factors_between<S> == 0) {
              lane.for_each(r, [=](const Index q) { after_exponent[q] += normalise(after[q]); });
            }
            const S slope = lane.template sum<S>(r, [=](const Index q) {
              return f[q] * (v0 * table[i0 + q] + v1 * table[i1 + q] + v2 * table[i2 + q]);
            });
            lane.for_each(r, [=](const Index q) { dtable[i0 + q] += w0 * f[q]; });
            lane.for_each(r, [=](const Index q) { dtable[i1 + q] += w1 * f[q]; });
            lane.for_each(r, [=](const Index q) { dtable[i2 + q] += w2 * f[q]; });
            lane.once([=]() { ds_row[c] = slope; });
          }
          lane.barrier();
        }
      });
}

/// gradient[i] += sum over chunks of slab[chunk i]. Reads slab [chunks, count].
template <class S>
void fold_slabs(const ExecSpace& space, Index chunks, Index count, const S* slab, S* gradient) {
  for_each(
      "Lexikos::lev::fold_slabs", space, count, KOKKOS_LAMBDA(const Index i) {
        S total = 0;
        for (Index chunk = 0; chunk < chunks; ++chunk) total += slab[chunk * count + i];
        gradient[i] += total;
      });
}

/// Back through the sigmoid, to the gradient of LN's output. Reads s; ds [U h d] in place.
template <class S>
void sigmoid_gradient(const ExecSpace& space, View2<const S> s, View2<S> ds) {
  for_each(
      "Lexikos::lev::sigmoid_gradient", space, s.size(), KOKKOS_LAMBDA(const Index i) {
        const S v = s.data()[i];
        ds.data()[i] *= S(0.5) * v * (S(1) - v);
      });
}

/// Columns summed by one row of work below.
inline constexpr Index column_block = 64;

/// Adds to dgain and dbias [h d]. Reads dln [U h d] (the gradient of LN's output), normal.
template <class S>
void norm_weight_gradient(const ExecSpace& space, View2<const S> dln, View2<const S> normal,
                          View1<S> dgain, View1<S> dbias) {
  const Index columns = dln.extent(1), tokens = dln.extent(0);
  for_rows(
      "Lexikos::lev::norm_weight_gradient", space, (columns + column_block - 1) / column_block,
      KOKKOS_LAMBDA(const Lane& lane, const Index block) {
        const Index first = block * column_block;
        const Index width = first + column_block < columns ? column_block : columns - first;
        S* const to_gain = dgain.data() + first;
        S* const to_bias = dbias.data() + first;
        for (Index u = 0; u < tokens; ++u) {
          const S* const g = dln.data() + u * columns + first;
          const S* const x = normal.data() + u * columns + first;
          lane.for_each(width, [=](const Index c) {
            to_gain[c] += g[c] * x[c];
            to_bias[c] += g[c];
          });
        }
      });
}

/// Back through LN, head by head. Reads normal, rstd [U h], gain [h d]; dln [U h d] in place.
template <class S>
void norm_gradient(const ExecSpace& space, Sizes z, View2<const S> normal, View2<const S> rstd,
                   View1<const S> gain, View2<S> dln) {
  const Index d = z.seed_width;
  for_rows(
      "Lexikos::lev::norm_gradient", space, dln.extent(0) * z.heads,
      KOKKOS_LAMBDA(const Lane& lane, const Index i) {
        const S* const x = normal.data() + i * d;
        S* const g = dln.data() + i * d;
        const S* const w = gain.data() + (i % z.heads) * d;
        const S mean =
            lane.template sum<S>(d, [=](const Index c) { return g[c] * w[c]; }) / S(d);
        const S along =
            lane.template sum<S>(d, [=](const Index c) { return g[c] * w[c] * x[c]; }) / S(d);
        const S r = rstd.data()[i];
        lane.for_each(d, [=](const Index c) { g[c] = r * (g[c] * w[c] - mean - x[c] * along); });
      });
}

/// drows[row] = sum of dx over the tokens whose digit is that row: one owner for each sum.
/// Reads dx [U h d], digit [U k]; overwrites drows [k b, h d].
template <class S>
void gather_digits(const ExecSpace& space, Sizes z, View2<const std::int32_t> digit,
                   View2<const S> dx, View2<S> drows) {
  const Index d = z.seed_width, tokens = digit.extent(0), stride = z.heads * d;
  for_rows(
      "Lexikos::lev::gather_digits", space, z.books.rows() * z.heads,
      KOKKOS_LAMBDA(const Lane& lane, const Index i) {
        const Index row = i / z.heads, l = i % z.heads;
        const Index j = row / z.books.base;
        S* const to = drows.data() + row * stride + l * d;
        lane.for_each(d, [=](const Index c) { to[c] = S(0); });
        for (Index u = 0; u < tokens; ++u) {
          if (digit.data()[u * z.books.count + j] != row) continue;
          const S* const from = dx.data() + u * stride + l * d;
          lane.for_each(d, [=](const Index c) { to[c] += from[c]; });
        }
      });
}

}  // namespace lexikos::lev

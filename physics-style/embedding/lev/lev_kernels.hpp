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

/// Where n factors in a row come from: factor c + b of product q is the sum over i < 3 of
/// weight[b][i] table[at[b][i] + q].
template <class S, int n>
struct Factors {
  Index at[n][3];
  S weight[n][3];
  S slope[n][3];

  KOKKOS_INLINE_FUNCTION Factors(Sizes z, const S* s_row, Index c) {
    for (int b = 0; b < n; ++b) {
      const Knots<S> k = knots_at(s_row[c + b], z.knots);
      for (int i = 0; i < 3; ++i) {
        at[b][i] = ((c + b) * z.knots + k.index[i]) * z.rank;
        weight[b][i] = k.weight[i];
        slope[b][i] = k.slope[i];
      }
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION S value(const S* table, int b, Index q) const {
    return weight[b][0] * table[at[b][0] + q] + weight[b][1] * table[at[b][1] + q] +
           weight[b][2] * table[at[b][2] + q];
  }
};

/// Multiplies r running products, value [r] and exponent [r] (normalised), by n factors each.
template <class S, int n>
KOKKOS_INLINE_FUNCTION void multiply(const Lane& lane, const Factors<S, n>& from, const S* table,
                                     Index r, double* value, double* exponent) {
  lane.for_each(r, [=](const Index q) {
    double whole = value[q];
    for (int b = 0; b < n; ++b) whole *= static_cast<double>(from.value(table, b, q));
    exponent[q] += normalise(whole);
    value[q] = whole;
  });
}

/// M[u l q] = product over d of phi. Reads s [U h d], spline [h d kappa r]; overwrites
/// product [U h r] and running [chunks h, 2 r] (workspace). The product runs in double, its power
/// of two apart, so that only the whole can be too small or too large for a number.
template <class S>
void products(const ExecSpace& space, Sizes z, Chunks chunks, View2<const S> s, const S* spline,
              View2<S> product, double* running) {
  const Index d = z.seed_width, r = z.rank;
  for_rows(
      "Lexikos::lev::products", space, chunks.count * z.heads,
      KOKKOS_LAMBDA(const Lane& lane, const Index task) {
        constexpr int n = factors_between<S>;
        const Index l = task % z.heads;
        double* const value = running + task * 2 * r;
        double* const exponent = value + r;
        const S* const table = spline + l * d * z.knots * r;
        for (Index u = chunks.begin(task / z.heads); u < chunks.end(task / z.heads); ++u) {
          const S* const s_row = s.data() + (u * z.heads + l) * d;
          lane.for_each(r, [=](const Index q) {
            value[q] = 1.0;
            exponent[q] = 0.0;
          });
          // Groups of n factors, then what is left one by one.
          Index c = 0;
          for (; c + n <= d; c += n) {
            multiply(lane, Factors<S, n>(z, s_row, c), table, r, value, exponent);
          }
          for (; c < d; ++c) multiply(lane, Factors<S, 1>(z, s_row, c), table, r, value, exponent);
          S* const to = product.data() + (u * z.heads + l) * r;
          lane.for_each(
              r, [=](const Index q) { to[q] = static_cast<S>(scale<S>(value[q], exponent[q])); });
        }
      });
}

/// Elements of double that products_gradient needs as workspace: for each task, the products before
/// each group of factors and after it, and the powers of two of both.
inline Index gradient_workspace(Sizes z, Index chunks) {
  return chunks * z.heads * 2 * (z.seed_width + 2) * z.rank;
}

/// One token and head in products_gradient. All products are kept normalised (scaled_product.hpp).
template <class S>
struct ProductGradient {
  const Lane& lane;
  Sizes z;
  const S* s_row;           // [d]
  const S* table;           // [d kappa r]
  double* before;           // [groups + 1, r], the product of the factors before a group
  double* before_exponent;  // [groups + 1, r]
  double* after;            // [r], dproduct times the factors after the group at hand
  double* after_exponent;   // [r]
  S* factor;                // [d, r], then its gradient

  /// Factors c .. c + n - 1, group g: their values, and the product that includes them.
  template <int n>
  KOKKOS_INLINE_FUNCTION void take(Index c, Index g) const {
    const Index r = z.rank;
    const Factors<S, n> from(z, s_row, c);
    const S* const t = table;
    const double* const now = before + g * r;
    double* const next = before + (g + 1) * r;
    const double* const now_exponent = before_exponent + g * r;
    double* const next_exponent = before_exponent + (g + 1) * r;
    S* const f = factor + c * r;
    lane.for_each(r, [=](const Index q) {
      double whole = now[q];
      for (int b = 0; b < n; ++b) {
        const S value = from.value(t, b, q);
        f[b * r + q] = value;
        whole *= static_cast<double>(value);
      }
      next_exponent[q] = now_exponent[q] + normalise(whole);
      next[q] = whole;
    });
  }

  /// The gradients of the same factors, then of the coordinates and the table, added to dtable.
  template <int n>
  KOKKOS_INLINE_FUNCTION void give(Index c, Index g, S* dtable, S* ds_row) const {
    const Index r = z.rank;
    const Factors<S, n> from(z, s_row, c);
    const double* const now = before + g * r;
    const double* const now_exponent = before_exponent + g * r;
    double* const later = after;
    double* const later_exponent = after_exponent;
    S* const f = factor + c * r;
    lane.for_each(r, [=](const Index q) {
      // right: dproduct and every factor outside the group, then also the factors behind b;
      // left[b]: the factors of the group before b.
      double right = scale<S>(now[q] * later[q], now_exponent[q] + later_exponent[q]);
      double left[n];
      double whole = 1.0;
      for (int b = 0; b < n; ++b) {
        left[b] = whole;
        whole *= static_cast<double>(f[b * r + q]);
      }
      for (int b = n - 1; b >= 0; --b) {
        const double value = static_cast<double>(f[b * r + q]);
        f[b * r + q] = static_cast<S>(left[b] * right);
        right *= value;
      }
      whole *= later[q];
      later_exponent[q] += normalise(whole);
      later[q] = whole;
    });
    for (int b = 0; b < n; ++b) {
      const S* const gradient = f + b * r;
      const S* const t0 = table + from.at[b][0];
      const S* const t1 = table + from.at[b][1];
      const S* const t2 = table + from.at[b][2];
      const S v0 = from.slope[b][0], v1 = from.slope[b][1], v2 = from.slope[b][2];
      const S slope = lane.template sum<S>(
          r, [=](const Index q) { return gradient[q] * (v0 * t0[q] + v1 * t1[q] + v2 * t2[q]); });
      for (int i = 0; i < 3; ++i) {
        S* const to = dtable + from.at[b][i];
        const S weight = from.weight[b][i];
        lane.for_each(r, [=](const Index q) { to[q] += weight * gradient[q]; });
      }
      lane.once([=]() { ds_row[c + b] = slope; });
    }
  }
};

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
        constexpr int n = factors_between<S>;
        const Index l = task % z.heads, chunk = task / z.heads;
        double* const before = prefix + task * 2 * (d + 2) * r;
        double* const after = before + (d + 1) * r;
        double* const before_exponent = after + r;
        double* const after_exponent = before_exponent + (d + 1) * r;
        S* const dtable = slab + (chunk * z.heads + l) * d * kappa * r;
        for (Index u = chunks.begin(chunk); u < chunks.end(chunk); ++u) {
          const ProductGradient<S> gradient{lane,
                                            z,
                                            s.data() + (u * z.heads + l) * d,
                                            spline + l * d * kappa * r,
                                            before,
                                            before_exponent,
                                            after,
                                            after_exponent,
                                            phi + task * d * r};
          S* const ds_row = ds.data() + (u * z.heads + l) * d;
          const S* const dm = dproduct.data() + (u * z.heads + l) * r;
          lane.for_each(r, [=](const Index q) {
            before[q] = 1.0;
            before_exponent[q] = 0.0;
            after[q] = static_cast<double>(dm[q]);
            after_exponent[q] = normalise(after[q]);
          });
          // Groups of n factors, then what is left one by one.
          Index c = 0, g = 0;
          for (; c + n <= d; c += n, ++g) gradient.template take<n>(c, g);
          for (; c < d; ++c, ++g) gradient.template take<1>(c, g);
          while (c % n != 0) gradient.template give<1>(--c, --g, dtable, ds_row);
          while (c > 0) gradient.template give<n>(c -= n, --g, dtable, ds_row);
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
        const S mean = lane.template sum<S>(d, [=](const Index c) { return g[c] * w[c]; }) / S(d);
        const S along =
            lane.template sum<S>(d, [=](const Index c) { return g[c] * w[c] * x[c]; }) / S(d);
        const S r = rstd.data()[i];
        lane.for_each(d, [=](const Index c) { g[c] = r * (g[c] * w[c] - mean - x[c] * along); });
      });
}

}  // namespace lexikos::lev

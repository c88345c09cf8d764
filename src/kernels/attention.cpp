#include "kernels/attention.hpp"

#include <cmath>

#include "kernels/elementary.hpp"
#include "utils/error.hpp"

namespace lexikos::attention {
namespace {

/// Where a head's rows stand in the merged layout [N C]: C = H E.
struct Merged {
  Index heads, t, width;
  KOKKOS_FORCEINLINE_FUNCTION Index row(Index g, Index position) const {
    const Index b = g / heads;
    const Index h = g % heads;
    return ((b * t + position) * heads + h) * width;
  }
};

// The tiles of a head can be worked on in two ways, and the algorithms below are written once for
// both: all heads at once, kernel after kernel, as a device wants it; or one head on one thread of
// a host, whose tiles then stay in that core's cache from one product to the next. Heads need not
// be at the same tile, so the workspace of each has its own place: `block` rows, whatever the
// tile's size.

struct AllHeads {
  const ExecSpace& space;
  Index heads;

  /// body(lane, head, row) for every row < rows of the tile.
  template <class Body>
  void rows(const char* label, Index rows, const Body& body) const {
    for_rows(
        label, space, heads * rows,
        KOKKOS_LAMBDA(const Lane& lane, const Index i) { body(lane, i / rows, i % rows); });
  }
  template <class A>
  void gemm(Op op_a, Op op_b, Wide<A> alpha, MatrixBatch<const A> a, MatrixBatch<const A> b,
            Wide<A> beta, MatrixBatch<Wide<A>> c) const {
    gemm_batched<A, Wide<A>>(space, op_a, op_b, heads, alpha, a, b, beta, c);
  }
};

struct OneHead {
  Index head;

  template <class Body>
  void rows(const char*, Index rows, const Body& body) const {
    const HostLane lane;
    for (Index row = 0; row < rows; ++row) body(lane, head, row);
  }
  template <class A>
  void gemm(Op op_a, Op op_b, Wide<A> alpha, MatrixBatch<const A> a, MatrixBatch<const A> b,
            Wide<A> beta, MatrixBatch<Wide<A>> c) const {
    gemm_on_thread<A, Wide<A>>(op_a, op_b, alpha, mine(a), mine(b), beta, mine(c));
  }

 private:
  template <class S>
  MatrixBatch<S> mine(const MatrixBatch<S>& m) const {
    return {m.data + head * m.stride, m.rows, m.cols, m.stride};
  }
};

/// Calls work(run) for all `heads`.
template <class Work>
void for_heads(const char* label, const ExecSpace& space, Index heads, const Work& work) {
  if constexpr (device_is_host) {
    using Range =
        Kokkos::RangePolicy<ExecSpace, Kokkos::Schedule<Kokkos::Dynamic>, Kokkos::IndexType<Index>>;
    Kokkos::parallel_for(label, Range(space, 0, heads),
                         [&](const Index head) { work(OneHead{head}); });
  } else {
    work(AllHeads{space, heads});
  }
}

/// Rows [begin, begin + rows) of every head of x [G T E].
template <class S, class View>
MatrixBatch<S> rows_of(const View& x, Index begin, Index rows) {
  const Index width = x.extent(3);
  return {x.data() + begin * width, rows, width, Index(x.extent(2)) * width};
}

/// row[begin, end) = 0.
template <class S>
KOKKOS_FORCEINLINE_FUNCTION void zero(const Lane& lane, S* row, Index begin, Index end) {
  lane.for_each(end - begin, [=](const Index j) { row[begin + j] = S(0); });
}

/// Less than any logit: the largest of none. Finite, so that differences of two are numbers.
template <class S>
constexpr S no_logit = S(-1e30);

template <class S>
KOKKOS_FORCEINLINE_FUNCTION S largest_of(const Lane& lane, const S* row, Index begin, Index end) {
  if (begin == end) return no_logit<S>;
  return lane.template max<S>(end - begin, [=](const Index j) { return row[begin + j]; });
}

/// out[begin, end) = exp(row - now), rounded to A; returns the sum before rounding. `out` may be
/// row.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION Wide<A> exponentials(const Lane& lane, const Wide<A>* row, A* out,
                                                 Index begin, Index end, Wide<A> now) {
  return lane.template sum<Wide<A>>(end - begin, [=](const Index j) {
    const Wide<A> e = fast_exp(row[begin + j] - now);
    out[begin + j] = A(e);
    return e;
  });
}

/// The online softmax on one tile of logits [R K] of each head, the first of its queries or a
/// later one: weights [R K] = exp(logit - new
/// largest), 0 where the query does not see the key; the running sums and the partial output are
/// rescaled. Of one type, the weights may be the logits themselves.
template <class A, class Run>
void softmax_tile(const Run& run, const SightRows& sight, Index block, Index rows, Index keys,
                  Index first_query, Index first_key, bool first, const Wide<A>* logits, A* weights,
                  Wide<A>* output, Index width, Wide<A>* largest, Wide<A>* sum) {
  using W = Wide<A>;
  run.rows(
      "Lexikos::attention::softmax_tile", rows,
      KOKKOS_LAMBDA(const Lane& lane, const Index g, const Index r) {
        const W* const row = logits + g * block * block + r * keys;
        A* const out = weights + g * block * block + r * keys;
        const Index i = g * block + r;
        const TileSight see = sight.sight(g, first_query + r, first_key, keys);
        const W in_a = largest_of<W>(lane, row, see.a_begin, see.a_end);
        const W in_b = largest_of<W>(lane, row, see.b_begin, see.b_end);
        const W in_tile = in_a > in_b ? in_a : in_b;
        const W before = first ? in_tile : largest[i];
        const W now = in_tile > before ? in_tile : before;
        zero(lane, out, 0, see.a_begin);
        const W part_a = exponentials<A>(lane, row, out, see.a_begin, see.a_end, now);
        zero(lane, out, see.a_end, see.b_begin);
        const W part = part_a + exponentials<A>(lane, row, out, see.b_begin, see.b_end, now);
        zero(lane, out, see.b_end, keys);
        const W shrink = fast_exp(before - now);
        if (!first) {
          lane.for_each(width, [=](const Index e) { output[i * width + e] *= shrink; });
        }
        lane.barrier();
        lane.once([=]() {
          sum[i] = first ? part : sum[i] * shrink + part;
          largest[i] = now;
        });
      });
}

/// o = partial output / sum, into the merged layout; lse = largest + log sum.
template <class A, class Run>
void finish_rows(const Run& run, Index block, Index rows, Index first_query, Merged merged,
                 const Wide<A>* output, const Wide<A>* largest, const Wide<A>* sum, A* o,
                 Wide<A>* lse) {
  using W = Wide<A>;
  const Index width = merged.width;
  run.rows(
      "Lexikos::attention::finish_rows", rows,
      KOKKOS_LAMBDA(const Lane& lane, const Index g, const Index r) {
        const Index i = g * block + r;
        const Index query = first_query + r;
        const W inverse = W(1) / sum[i];
        A* const to = o + merged.row(g, query);
        lane.for_each(width, [=](const Index e) { to[e] = A(output[i * width + e] * inverse); });
        lane.once([=]() { lse[g * merged.t + query] = largest[i] + ::log(sum[i]); });
      });
}

/// Heads apart: dout_h [G T E] from dout [N C], and delta [G T] = sum_e dout o.
template <class A, class Run>
void split_gradient(const Run& run, Merged merged, const A* dout, const A* o, A* dout_h,
                    Wide<A>* delta) {
  using W = Wide<A>;
  const Index width = merged.width;
  run.rows(
      "Lexikos::attention::split_gradient", merged.t,
      KOKKOS_LAMBDA(const Lane& lane, const Index g, const Index position) {
        const Index i = g * merged.t + position;
        const Index from = merged.row(g, position);
        const W dot = lane.template sum<W>(width, [=](const Index e) {
          dout_h[i * width + e] = dout[from + e];
          return W(dout[from + e]) * W(o[from + e]);
        });
        lane.once([=]() { delta[i] = dot; });
      });
}

/// In each head's tile: probabilities p [R K] from logits, and ds [R K], the gradient of the
/// unscaled logits, from dp; both 0 where the query does not see the key. Of one type, p may be the
/// logits and ds may be dp.
template <class A, class Run>
void softmax_gradient_tile(const Run& run, const SightRows& sight, Index block, Index rows,
                           Index keys, Index first_query, Index first_key, Index t, Wide<A> scale,
                           const Wide<A>* lse, const Wide<A>* delta, const Wide<A>* logits,
                           const Wide<A>* dp, A* p, A* ds) {
  using W = Wide<A>;
  run.rows(
      "Lexikos::attention::softmax_gradient_tile", rows,
      KOKKOS_LAMBDA(const Lane& lane, const Index g, const Index r) {
        const Index query = first_query + r;
        const TileSight see = sight.sight(g, query, first_key, keys);
        const W lse_i = lse[g * t + query];
        const W delta_i = delta[g * t + query];
        const Index row = g * block * block + r * keys;
        const W* const logit = logits + row;
        const W* const dp_r = dp + row;
        A* const p_r = p + row;
        A* const ds_r = ds + row;
        const auto gradient = [=](const Index begin, const Index end) {
          lane.for_each(end - begin, [=](const Index j) {
            const W weight = fast_exp(logit[begin + j] - lse_i);
            ds_r[begin + j] = A(weight * (dp_r[begin + j] - delta_i) * scale);
            p_r[begin + j] = A(weight);
          });
        };
        const auto nothing = [=](const Index begin, const Index end) {
          zero(lane, p_r, begin, end);
          zero(lane, ds_r, begin, end);
        };
        nothing(0, see.a_begin);
        gradient(see.a_begin, see.a_end);
        nothing(see.a_end, see.b_begin);
        gradient(see.b_begin, see.b_end);
        nothing(see.b_end, keys);
      });
}

/// Cuts pieces off the workspace, from its beginning.
template <class A>
class Pieces {
 public:
  explicit Pieces(Wide<A>* begin) : next_(begin) {}
  Wide<A>* wide(Index count) {
    Wide<A>* const piece = next_;
    next_ += count;
    return piece;
  }
  A* stored(Index count) { return reinterpret_cast<A*>(wide(narrow_elements<A>(count))); }
  /// Where products read what was computed in `sums`: there, or in a piece of A.
  A* rounded([[maybe_unused]] Wide<A>* sums, [[maybe_unused]] Index count) {
    if constexpr (narrow<A>) {
      return stored(count);
    } else {
      return sums;
    }
  }

 private:
  Wide<A>* next_;
};

template <class S>
S scale_of(Index width) {
  return static_cast<S>(1.0 / ::sqrt(static_cast<double>(width)));
}

/// FLOP of `count` products of a query or its gradient with each key that it sees. Spans are taken
/// for plain ones.
template <class View>
double flops_of(const View& q, Index window, double count) {
  const double rows = static_cast<double>(q.size()) / static_cast<double>(q.extent(3));
  return count * 2 * rows * static_cast<double>(q.extent(3)) *
         mean_keys(static_cast<Index>(q.extent(2)), window);
}

void check_workspace(Index have, Index need) {
  if (have < need) fail(Status::resource, "attention: workspace too small; a fault in Lexikos");
}

}  // namespace

template <class A>
void forward(const ExecSpace& space, const Sight& sight, View4<const A> q, View4<const A> k,
             View4<const A> v, View2<A> o, View3<Wide<A>> lse, View1<Wide<A>> workspace) {
  using W = Wide<A>;
  const Region region("Lexikos::attention::forward",
                      {.flops = flops_of(q, sight.window, 2), .bytes = bytes_of(q, k, v, o, lse)});
  const Index heads = q.extent(1), t = q.extent(2), width = q.extent(3);
  const Index total = q.extent(0) * heads;
  const Index block = tile_of(t), area = block * block;
  check_workspace(workspace.size(), forward_workspace<A>(total, t, width));
  Pieces<A> pieces(workspace.data());
  W* const logits = pieces.wide(total * area);
  W* const output = pieces.wide(total * block * width);
  W* const largest = pieces.wide(total * block);
  W* const sum = pieces.wide(total * block);
  A* const weights = pieces.rounded(logits, total * area);
  const Merged merged{heads, t, width};
  const SightRows seen(sight, heads, t);

  for_heads("Lexikos::attention::forward", space, total, [&](const auto& run) {
    for (Index i = 0; i < t; i += block) {
      const Index rows = block < t - i ? block : t - i;
      const Index first = sight.first_key(i) / block * block;  // tile of keys that any row sees
      for (Index j = first; j <= i; j += block) {
        const Index keys = block < t - j ? block : t - j;
        run.template gemm<A>(Op::none, Op::transpose, scale_of<W>(width),
                             rows_of<const A>(q, i, rows), rows_of<const A>(k, j, keys), W(0),
                             {logits, rows, keys, area});
        softmax_tile<A>(run, seen, block, rows, keys, i, j, j == first, logits, weights, output,
                        width, largest, sum);
        run.template gemm<A>(Op::none, Op::none, W(1), {weights, rows, keys, area},
                             rows_of<const A>(v, j, keys), j == first ? W(0) : W(1),
                             {output, rows, width, block * width});
      }
      finish_rows<A>(run, block, rows, i, merged, output, largest, sum, o.data(), lse.data());
    }
  });
}

template <class A>
void backward(const ExecSpace& space, const Sight& sight, View2<const A> dout, View4<const A> q,
              View4<const A> k, View4<const A> v, View2<const A> o, View3<const Wide<A>> lse,
              View4<Wide<A>> dq, View4<Wide<A>> dk, View4<Wide<A>> dv, View1<Wide<A>> workspace) {
  using W = Wide<A>;
  const Region region("Lexikos::attention::backward",
                      {.flops = flops_of(q, sight.window, 5),
                       .bytes = bytes_of(dout, q, k, v, o, lse, dq, dk, dv)});
  const Index heads = q.extent(1), t = q.extent(2), width = q.extent(3);
  const Index total = q.extent(0) * heads;
  const Index block = tile_of(t), area = block * block;
  check_workspace(workspace.size(), backward_workspace<A>(total, t, width));
  Pieces<A> pieces(workspace.data());
  W* const logits = pieces.wide(total * area);
  W* const dp = pieces.wide(total * area);
  W* const delta = pieces.wide(total * t);
  A* const dout_h = pieces.stored(total * t * width);
  A* const p = pieces.rounded(logits, total * area);
  A* const ds = pieces.rounded(dp, total * area);
  const Merged merged{heads, t, width};
  const W scale = scale_of<W>(width);
  const SightRows seen(sight, heads, t);

  for_heads("Lexikos::attention::backward", space, total, [&](const auto& run) {
    split_gradient<A>(run, merged, dout.data(), o.data(), dout_h, delta);
    for (Index i = 0; i < t; i += block) {
      const Index rows = block < t - i ? block : t - i;
      const MatrixBatch<const A> q_i = rows_of<const A>(q, i, rows);
      const MatrixBatch<const A> dout_i{dout_h + i * width, rows, width, t * width};
      const Index first = sight.first_key(i) / block * block;
      for (Index j = first; j <= i; j += block) {
        const Index keys = block < t - j ? block : t - j;
        const MatrixBatch<const A> k_j = rows_of<const A>(k, j, keys);
        const MatrixBatch<const A> p_ij{p, rows, keys, area}, ds_ij{ds, rows, keys, area};
        const W add_key = i == j ? W(0) : W(1);  // the first query tile that sees these keys
        run.template gemm<A>(Op::none, Op::transpose, scale, q_i, k_j, W(0),
                             {logits, rows, keys, area});
        run.template gemm<A>(Op::none, Op::transpose, W(1), dout_i, rows_of<const A>(v, j, keys),
                             W(0), {dp, rows, keys, area});
        softmax_gradient_tile<A>(run, seen, block, rows, keys, i, j, t, scale, lse.data(), delta,
                                 logits, dp, p, ds);
        run.template gemm<A>(Op::transpose, Op::none, W(1), p_ij, dout_i, add_key,
                             rows_of<W>(dv, j, keys));
        run.template gemm<A>(Op::transpose, Op::none, W(1), ds_ij, q_i, add_key,
                             rows_of<W>(dk, j, keys));
        run.template gemm<A>(Op::none, Op::none, W(1), ds_ij, k_j, j == first ? W(0) : W(1),
                             rows_of<W>(dq, i, rows));
      }
    }
  });
}

#define LEXIKOS_ATTENTION(A)                                                                      \
  template void forward<A>(const ExecSpace&, const Sight&, View4<const A>, View4<const A>,        \
                           View4<const A>, View2<A>, View3<Wide<A>>, View1<Wide<A>>);             \
  template void backward<A>(const ExecSpace&, const Sight&, View2<const A>, View4<const A>,       \
                            View4<const A>, View4<const A>, View2<const A>, View3<const Wide<A>>, \
                            View4<Wide<A>>, View4<Wide<A>>, View4<Wide<A>>, View1<Wide<A>>);
LEXIKOS_ATTENTION(float)
LEXIKOS_ATTENTION(double)
LEXIKOS_ATTENTION(Bf16)
#undef LEXIKOS_ATTENTION

}  // namespace lexikos::attention

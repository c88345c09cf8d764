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
  template <class S>
  void gemm(Op op_a, Op op_b, S alpha, MatrixBatch<const S> a, MatrixBatch<const S> b, S beta,
            MatrixBatch<S> c) const {
    gemm_batched<S>(space, op_a, op_b, heads, alpha, a, b, beta, c);
  }
};

struct OneHead {
  Index head;

  template <class Body>
  void rows(const char*, Index rows, const Body& body) const {
    const HostLane lane;
    for (Index row = 0; row < rows; ++row) body(lane, head, row);
  }
  template <class S>
  void gemm(Op op_a, Op op_b, S alpha, MatrixBatch<const S> a, MatrixBatch<const S> b, S beta,
            MatrixBatch<S> c) const {
    gemm_on_thread<S>(op_a, op_b, alpha, mine(a), mine(b), beta, mine(c));
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

/// row[begin, end) = exp(row - now); returns their sum.
template <class S>
KOKKOS_FORCEINLINE_FUNCTION S exponentials(const Lane& lane, S* row, Index begin, Index end,
                                           S now) {
  return lane.template sum<S>(end - begin, [=](const Index j) {
    const S e = fast_exp(row[begin + j] - now);
    row[begin + j] = e;
    return e;
  });
}

/// The online softmax on one tile of logits [R K] of each head: it becomes exp(logit - new
/// largest), 0 where the query does not see the key; the running sums and the partial output are
/// rescaled.
template <class S, class Run>
void softmax_tile(const Run& run, const SpanRows& spans, Index block, Index rows, Index keys,
                  Index first_query, Index first_key, S* tile_data, S* output, Index width,
                  S* largest, S* sum) {
  const bool first = first_key == 0;
  run.rows(
      "Lexikos::attention::softmax_tile", rows,
      KOKKOS_LAMBDA(const Lane& lane, const Index g, const Index r) {
        S* const row = tile_data + g * block * block + r * keys;
        const Index i = g * block + r;
        const TileSight see = spans.sight(g, first_query + r, first_key, keys);
        const S in_a = largest_of<S>(lane, row, see.a_begin, see.a_end);
        const S in_b = largest_of<S>(lane, row, see.b_begin, see.b_end);
        const S in_tile = in_a > in_b ? in_a : in_b;
        const S before = first ? in_tile : largest[i];
        const S now = in_tile > before ? in_tile : before;
        zero(lane, row, 0, see.a_begin);
        const S part_a = exponentials(lane, row, see.a_begin, see.a_end, now);
        zero(lane, row, see.a_end, see.b_begin);
        const S part = part_a + exponentials(lane, row, see.b_begin, see.b_end, now);
        zero(lane, row, see.b_end, keys);
        const S shrink = fast_exp(before - now);
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
template <class S, class Run>
void finish_rows(const Run& run, Index block, Index rows, Index first_query, Merged merged,
                 const S* output, const S* largest, const S* sum, S* o, S* lse) {
  const Index width = merged.width;
  run.rows(
      "Lexikos::attention::finish_rows", rows,
      KOKKOS_LAMBDA(const Lane& lane, const Index g, const Index r) {
        const Index i = g * block + r;
        const Index query = first_query + r;
        const S inverse = S(1) / sum[i];
        S* const to = o + merged.row(g, query);
        lane.for_each(width, [=](const Index e) { to[e] = output[i * width + e] * inverse; });
        lane.once([=]() { lse[g * merged.t + query] = largest[i] + ::log(sum[i]); });
      });
}

/// Heads apart: dout_h [G T E] from dout [N C], and delta [G T] = sum_e dout o.
template <class S, class Run>
void split_gradient(const Run& run, Merged merged, const S* dout, const S* o, S* dout_h, S* delta) {
  const Index width = merged.width;
  run.rows(
      "Lexikos::attention::split_gradient", merged.t,
      KOKKOS_LAMBDA(const Lane& lane, const Index g, const Index position) {
        const Index i = g * merged.t + position;
        const Index from = merged.row(g, position);
        const S dot = lane.template sum<S>(width, [=](const Index e) {
          dout_h[i * width + e] = dout[from + e];
          return dout[from + e] * o[from + e];
        });
        lane.once([=]() { delta[i] = dot; });
      });
}

/// In each head's tile: logits [R K] -> probabilities, dprobabilities [R K] -> gradient of the
/// unscaled logits; both 0 where the query does not see the key.
template <class S, class Run>
void softmax_gradient_tile(const Run& run, const SpanRows& spans, Index block, Index rows,
                           Index keys, Index first_query, Index first_key, Index t, S scale,
                           const S* lse, const S* delta, S* logits, S* dprobabilities) {
  run.rows(
      "Lexikos::attention::softmax_gradient_tile", rows,
      KOKKOS_LAMBDA(const Lane& lane, const Index g, const Index r) {
        const Index query = first_query + r;
        const TileSight see = spans.sight(g, query, first_key, keys);
        const S lse_i = lse[g * t + query];
        const S delta_i = delta[g * t + query];
        S* const p = logits + g * block * block + r * keys;
        S* const dp = dprobabilities + g * block * block + r * keys;
        const auto gradient = [=](const Index begin, const Index end) {
          lane.for_each(end - begin, [=](const Index j) {
            p[begin + j] = fast_exp(p[begin + j] - lse_i);
            dp[begin + j] = p[begin + j] * (dp[begin + j] - delta_i) * scale;
          });
        };
        const auto nothing = [=](const Index begin, const Index end) {
          zero(lane, p, begin, end);
          zero(lane, dp, begin, end);
        };
        nothing(0, see.a_begin);
        gradient(see.a_begin, see.a_end);
        nothing(see.a_end, see.b_begin);
        gradient(see.b_begin, see.b_end);
        nothing(see.b_end, keys);
      });
}

template <class S>
S scale_of(Index width) {
  return static_cast<S>(1.0 / ::sqrt(static_cast<double>(width)));
}

void check_workspace(Index have, Index need) {
  if (have < need) fail(Status::resource, "attention: workspace too small; a fault in Lexikos");
}

}  // namespace

template <class S>
void forward(const ExecSpace& space, const Spans& spans, View4<const S> q, View4<const S> k,
             View4<const S> v, View2<S> o, View3<S> lse, View1<S> workspace) {
  const Index heads = q.extent(1), t = q.extent(2), width = q.extent(3);
  const Index total = q.extent(0) * heads;
  const Index block = tile_of(t);
  check_workspace(workspace.size(), forward_workspace(total, t, width));
  S* const tile_data = workspace.data();
  S* const output = tile_data + total * block * block;
  S* const largest = output + total * block * width;
  S* const sum = largest + total * block;
  const Merged merged{heads, t, width};
  const SpanRows seen(spans, heads, t);

  for_heads("Lexikos::attention::forward", space, total, [&](const auto& run) {
    for (Index i = 0; i < t; i += block) {
      const Index rows = block < t - i ? block : t - i;
      for (Index j = 0; j <= i; j += block) {
        const Index keys = block < t - j ? block : t - j;
        const MatrixBatch<S> logits{tile_data, rows, keys, block * block};
        const MatrixBatch<const S> weights{tile_data, rows, keys, block * block};
        run.template gemm<S>(Op::none, Op::transpose, scale_of<S>(width),
                             rows_of<const S>(q, i, rows), rows_of<const S>(k, j, keys), S(0),
                             logits);
        softmax_tile<S>(run, seen, block, rows, keys, i, j, tile_data, output, width, largest, sum);
        run.template gemm<S>(Op::none, Op::none, S(1), weights, rows_of<const S>(v, j, keys),
                             j == 0 ? S(0) : S(1), {output, rows, width, block * width});
      }
      finish_rows<S>(run, block, rows, i, merged, output, largest, sum, o.data(), lse.data());
    }
  });
}

template <class S>
void backward(const ExecSpace& space, const Spans& spans, View2<const S> dout, View4<const S> q,
              View4<const S> k, View4<const S> v, View2<const S> o, View3<const S> lse, View4<S> dq,
              View4<S> dk, View4<S> dv, View1<S> workspace) {
  const Index heads = q.extent(1), t = q.extent(2), width = q.extent(3);
  const Index total = q.extent(0) * heads;
  const Index block = tile_of(t);
  check_workspace(workspace.size(), backward_workspace(total, t, width));
  S* const logits = workspace.data();
  S* const dlogits = logits + total * block * block;
  S* const dout_h = dlogits + total * block * block;
  S* const delta = dout_h + total * t * width;
  const Merged merged{heads, t, width};
  const S scale = scale_of<S>(width);
  const SpanRows seen(spans, heads, t);

  for_heads("Lexikos::attention::backward", space, total, [&](const auto& run) {
    split_gradient<S>(run, merged, dout.data(), o.data(), dout_h, delta);
    for (Index i = 0; i < t; i += block) {
      const Index rows = block < t - i ? block : t - i;
      const MatrixBatch<const S> q_i = rows_of<const S>(q, i, rows);
      const MatrixBatch<const S> dout_i{dout_h + i * width, rows, width, t * width};
      for (Index j = 0; j <= i; j += block) {
        const Index keys = block < t - j ? block : t - j;
        const MatrixBatch<const S> k_j = rows_of<const S>(k, j, keys);
        const MatrixBatch<const S> p{logits, rows, keys, block * block};
        const MatrixBatch<const S> ds{dlogits, rows, keys, block * block};
        const S add_key = i == j ? S(0) : S(1);  // the first query tile that sees these keys
        run.template gemm<S>(Op::none, Op::transpose, scale, q_i, k_j, S(0),
                             {logits, rows, keys, block * block});
        run.template gemm<S>(Op::none, Op::transpose, S(1), dout_i, rows_of<const S>(v, j, keys),
                             S(0), {dlogits, rows, keys, block * block});
        softmax_gradient_tile<S>(run, seen, block, rows, keys, i, j, t, scale, lse.data(), delta,
                                 logits, dlogits);
        run.template gemm<S>(Op::transpose, Op::none, S(1), p, dout_i, add_key,
                             rows_of<S>(dv, j, keys));
        run.template gemm<S>(Op::transpose, Op::none, S(1), ds, q_i, add_key,
                             rows_of<S>(dk, j, keys));
        run.template gemm<S>(Op::none, Op::none, S(1), ds, k_j, j == 0 ? S(0) : S(1),
                             rows_of<S>(dq, i, rows));
      }
    }
  });
}

#define LEXIKOS_ATTENTION(S)                                                                \
  template void forward<S>(const ExecSpace&, const Spans&, View4<const S>, View4<const S>,  \
                           View4<const S>, View2<S>, View3<S>, View1<S>);                   \
  template void backward<S>(const ExecSpace&, const Spans&, View2<const S>, View4<const S>, \
                            View4<const S>, View4<const S>, View2<const S>, View3<const S>, \
                            View4<S>, View4<S>, View4<S>, View1<S>);
LEXIKOS_ATTENTION(float)
LEXIKOS_ATTENTION(double)
#undef LEXIKOS_ATTENTION

}  // namespace lexikos::attention

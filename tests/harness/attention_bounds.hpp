// What attention in S and its reference in fp64 may differ by, worst case (Higham, section 3.1, for
// any order of sums).
//
// A logit is off by d = (E + 2) u |q| |k| / sqrt(E), where |q| |k| bounds the sum of absolute
// values; a weight by w = 2 d + 2 x + (4 tiles + 2 T) u relative: logit and exponential (x) in
// itself and in the sum of weights, differences and rescaling per key tile, sums of T terms. So o
// is off by w max|v| and lse by w, or w lse. Backward, dout v is off by 2 E u of |dout| |v|, delta
// by that and by o's w, the weight between them by w, and the sum over T terms by less than w.
#pragma once

#include "harness/reference.hpp"
#include "kernels/attention.hpp"

namespace lexikos::test {

struct AttentionBounds {
  double o, lse, q, k, v;  // of every element; q, k, v: of the gradients
};

/// Largest norm of the rows [E] of a.
inline double largest_norm(const Doubles& a, Index width) {
  double most = 0;
  for (auto row = a.begin(); row != a.end(); row += width) {
    most = std::max(most, norm(Doubles(row, row + width)));
  }
  return most;
}

/// Largest sum of one key's weights, of p [B H T T].
inline double largest_weight(const Doubles& p, Index t) {
  double most = 0;
  for (auto head = p.begin(); head != p.end(); head += t * t) {
    for (Index key = 0; key < t; ++key) {
      double sum = 0;
      for (Index query = 0; query < t; ++query) sum += head[query * t + key];
      most = std::max(most, sum);
    }
  }
  return most;
}

template <class S>
AttentionBounds attention_bounds(const reference::HeadArrays& x, const Doubles& dout,
                                 const reference::Attention& exact, Index width) {
  constexpr double u = roundoff<S> + roundoff<double>;
  constexpr double exponential = exp_error<S> + exp_error<double>;
  const double e = double(width), root = std::sqrt(e);
  const Index t = static_cast<Index>(exact.p.size() / exact.lse.size());
  const Index tiles = (t + attention::tile - 1) / attention::tile;
  const double logit = (e + 2) * u * largest_norm(x.q, width) * largest_norm(x.k, width) / root;
  const double w = 2 * logit + 2 * exponential + double(4 * tiles + 2 * t) * u;
  const double dlogit =
      (4 * w + 4 * e * u) * largest_norm(dout, width) * largest_norm(x.v, width) / root;
  const double queries = largest_weight(exact.p, t);
  return {w * largest(x.v), w * std::max(largest(exact.lse), 1.0), dlogit * largest(x.k),
          dlogit * largest(x.q) * queries, 2 * w * largest(dout) * queries};
}

}  // namespace lexikos::test

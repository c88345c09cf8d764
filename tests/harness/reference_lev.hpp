// LEV by its published steps (methods, section 2), dense: all kappa weights, and the product as
// sign parity times exp of a sum of logarithms.
#pragma once

#include <cmath>

#include "harness/support.hpp"

namespace lexikos::reference {

using test::Doubles;

struct LevSizes {
  Index codebooks, base, seed_width, heads, knots, rank, width;
};

struct LevParameters {
  Doubles codebooks;   // [k b, d]
  Doubles mix;         // [h d, d]
  Doubles gain, bias;  // [h d]
  Doubles spline;      // [h d, kappa, r]
  Doubles out;         // [h r, D]
};

/// Digits of a token in base b, most significant first.
inline std::vector<Index> digits(Index token, const LevSizes& z) {
  std::vector<Index> digit(z.codebooks);
  Index weight = 1;
  for (Index j = 1; j < z.codebooks; ++j) weight *= z.base;
  for (Index j = 0; j < z.codebooks; ++j) {
    digit[j] = token / weight % z.base;
    weight /= z.base;
  }
  return digit;
}

/// z~ of one token: [h d].
inline Doubles lev_coordinates(Index token, const LevParameters& p, const LevSizes& z) {
  const Index d = z.seed_width;
  Doubles seed(d, 0.0), s(z.heads * d);
  const std::vector<Index> digit = digits(token, z);
  for (Index j = 0; j < z.codebooks; ++j) {
    for (Index c = 0; c < d; ++c) seed[c] += p.codebooks[(j * z.base + digit[j]) * d + c];
  }
  for (Index l = 0; l < z.heads; ++l) {
    Doubles y(d, 0.0);
    double mean = 0, variance = 0;
    for (Index c = 0; c < d; ++c) {
      for (Index e = 0; e < d; ++e) y[c] += p.mix[(l * d + c) * d + e] * seed[e];
      mean += y[c] / double(d);
    }
    for (Index c = 0; c < d; ++c) variance += (y[c] - mean) * (y[c] - mean) / double(d);
    for (Index c = 0; c < d; ++c) {
      const double normal = (y[c] - mean) / std::sqrt(variance + 1e-5);
      const double ln = normal * p.gain[l * d + c] + p.bias[l * d + c];
      s[l * d + c] = 1 / (1 + std::exp(-0.5 * ln));
    }
  }
  return s;
}

/// B_m(s) for all m.
inline Doubles spline_weights(double s, Index knots) {
  Doubles b(knots);
  double sum = 0;
  for (Index m = 0; m < knots; ++m) {
    const double g = double(m) / double(knots - 1);
    const double t = std::abs(s - g) * double(knots - 1);
    b[m] = t < 0.5 ? 0.75 - t * t : t < 1.5 ? 0.5 * (1.5 - t) * (1.5 - t) : 0.0;
    sum += b[m];
  }
  for (double& weight : b) weight /= std::max(sum, 1e-12);
  return b;
}

/// The vectors of tokens: [U D]. `guard` is added to every |phi| before its logarithm.
inline Doubles lev(const std::vector<TokenId>& tokens, const LevParameters& p, const LevSizes& z,
                   double guard = 0) {
  const Index d = z.seed_width;
  Doubles e(tokens.size() * z.width, 0.0);
  for (std::size_t u = 0; u < tokens.size(); ++u) {
    const Doubles s = lev_coordinates(tokens[u], p, z);
    for (Index l = 0; l < z.heads; ++l) {
      std::vector<Doubles> weights;
      for (Index c = 0; c < d; ++c) weights.push_back(spline_weights(s[l * d + c], z.knots));
      for (Index q = 0; q < z.rank; ++q) {
        double logarithm = 0;
        bool negative = false;
        for (Index c = 0; c < d; ++c) {
          double phi = 0;
          for (Index m = 0; m < z.knots; ++m) {
            phi += weights[c][m] * p.spline[((l * d + c) * z.knots + m) * z.rank + q];
          }
          negative = negative != (phi < 0);
          logarithm += std::log(std::abs(phi) + guard);
        }
        const double product = (negative ? -1 : 1) * std::exp(logarithm);
        for (Index i = 0; i < z.width; ++i) {
          e[u * z.width + i] += product * p.out[(l * z.rank + q) * z.width + i];
        }
      }
    }
  }
  return e;
}

/// Between which knots every coordinate lies: the map is smooth as long as it stays the same.
inline std::vector<Index> lev_cells(const std::vector<TokenId>& tokens, const LevParameters& p,
                                    const LevSizes& z) {
  std::vector<Index> cells;
  for (const TokenId token : tokens) {
    for (const double s : lev_coordinates(token, p, z)) {
      cells.push_back(static_cast<Index>(std::floor(s * double(z.knots - 1) + 0.5)));
    }
  }
  return cells;
}

}  // namespace lexikos::reference

// Plain references of the operators: loops in double, written from the formulas and not from the
// code under test. Slow on purpose.
#pragma once

#include <cmath>
#include <functional>

#include "harness/support.hpp"

namespace lexikos::reference {

using test::Doubles;

/// C = alpha op(A) op(B) + beta C with C [m n]; also the sum of the absolute values of what is
/// added up, which bounds the rounding error. lda, ldb: columns of A and B as stored.
struct Product {
  Doubles value, magnitude;
};

inline Product gemm(bool transpose_a, bool transpose_b, Index m, Index n, Index k, double alpha,
                    const double* a, const double* b, double beta, const Doubles& c) {
  Product product{Doubles(m * n), Doubles(m * n)};
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (Index p = 0; p < k; ++p) {
        const double term = (transpose_a ? a[p * m + i] : a[i * k + p]) *
                            (transpose_b ? b[j * k + p] : b[p * n + j]);
        sum += term;
        size += std::abs(term);
      }
      const double old = beta == 0 ? 0 : beta * c[i * n + j];
      product.value[i * n + j] = alpha * sum + old;
      product.magnitude[i * n + j] = std::abs(alpha) * size + std::abs(old);
    }
  }
  return product;
}

// --- root mean square norm ----------------------------------------------------------------------

inline double rms(const double* x, Index c, double eps) {
  double squares = 0;
  for (Index i = 0; i < c; ++i) squares += x[i] * x[i];
  return std::sqrt(squares / double(c) + eps);
}

inline Doubles rmsnorm(const Doubles& x, const Doubles& w, Index n, Index c, double eps) {
  Doubles y(n * c);
  for (Index row = 0; row < n; ++row) {
    const double root = rms(&x[row * c], c, eps);
    for (Index i = 0; i < c; ++i) y[row * c + i] = w[i] * x[row * c + i] / root;
  }
  return y;
}

struct NormGradient {
  Doubles dx, dw;
};

/// From the Jacobian dy_i / dx_j = w_i (delta_ij / rms - x_i x_j / (C rms^3)).
inline NormGradient rmsnorm_gradient(const Doubles& dy, const Doubles& x, const Doubles& w, Index n,
                                     Index c, double eps) {
  NormGradient g{Doubles(n * c, 0.0), Doubles(c, 0.0)};
  for (Index row = 0; row < n; ++row) {
    const double* const xr = &x[row * c];
    const double root = rms(xr, c, eps);
    for (Index i = 0; i < c; ++i) {
      for (Index j = 0; j < c; ++j) {
        const double jacobian =
            w[i] * ((i == j ? 1 / root : 0.0) - xr[i] * xr[j] / (double(c) * root * root * root));
        g.dx[row * c + j] += dy[row * c + i] * jacobian;
      }
      g.dw[i] += dy[row * c + i] * xr[i] / root;
    }
  }
  return g;
}

// --- rotary positions ---------------------------------------------------------------------------

/// Angle by which the pair (i, i + E/2) turns at position t.
inline double rope_angle(Index t, Index i, Index width, double base) {
  return double(t) / std::pow(base, 2.0 * double(i) / double(width));
}

/// Turns one head's vector [E] at position t; sign -1 turns back.
inline void rope_turn(double* x, Index t, Index width, double base, double sign) {
  const Index half = width / 2;
  for (Index i = 0; i < half; ++i) {
    const double angle = sign * rope_angle(t, i, width, base);
    const double re = x[i], im = x[i + half];
    x[i] = re * std::cos(angle) - im * std::sin(angle);
    x[i + half] = re * std::sin(angle) + im * std::cos(angle);
  }
}

struct HeadArrays {
  Doubles q, k, v;  // each [B H T E]
};

/// qkv [N, C + 2 G E] apart into heads, q and k turned; query head h has the keys and values of
/// head h G / H, rounded down.
inline HeadArrays rope(const Doubles& qkv, Index b_count, Index heads, Index kv_heads,
                       Index t_count, Index width, double base) {
  const Index size = b_count * heads * t_count * width, columns = (heads + 2 * kv_heads) * width;
  HeadArrays out{Doubles(size), Doubles(size), Doubles(size)};
  for (Index b = 0; b < b_count; ++b) {
    for (Index h = 0; h < heads; ++h) {
      for (Index t = 0; t < t_count; ++t) {
        const double* const row = &qkv[(b * t_count + t) * columns];
        const double* const query = row + h * width;
        const double* const key = row + (heads + h * kv_heads / heads) * width;
        const double* const value = key + kv_heads * width;
        const Index to = ((b * heads + h) * t_count + t) * width;
        for (Index e = 0; e < width; ++e) {
          out.q[to + e] = query[e];
          out.k[to + e] = key[e];
          out.v[to + e] = value[e];
        }
        rope_turn(&out.q[to], t, width, base, 1);
        rope_turn(&out.k[to], t, width, base, 1);
      }
    }
  }
  return out;
}

// --- causal attention ---------------------------------------------------------------------------

/// Whether query i of sequence b sees key j <= i.
using Sees = std::function<bool(Index b, Index i, Index j)>;
inline bool all_before(Index, Index, Index) { return true; }

struct Attention {
  Doubles o;    // [N C]
  Doubles lse;  // [B H T]
  Doubles p;    // [B H T T]
};

inline Attention attention(const Doubles& q, const Doubles& k, const Doubles& v, Index b_count,
                           Index heads, Index t_count, Index width, const Sees& sees = all_before) {
  const Index total = b_count * heads;
  Attention a{Doubles(total * t_count * width, 0.0), Doubles(total * t_count),
              Doubles(total * t_count * t_count, 0.0)};
  for (Index g = 0; g < total; ++g) {
    for (Index i = 0; i < t_count; ++i) {
      double* const p = &a.p[(g * t_count + i) * t_count];
      double most = -test::infinity, sum = 0;
      for (Index j = 0; j <= i; ++j) {
        double logit = 0;
        for (Index e = 0; e < width; ++e) {
          logit += q[(g * t_count + i) * width + e] * k[(g * t_count + j) * width + e];
        }
        p[j] = sees(g / heads, i, j) ? logit / std::sqrt(double(width)) : -test::infinity;
        most = std::max(most, p[j]);
      }
      for (Index j = 0; j <= i; ++j) sum += std::exp(p[j] - most);
      for (Index j = 0; j <= i; ++j) p[j] = std::exp(p[j] - most) / sum;
      a.lse[g * t_count + i] = most + std::log(sum);
      const Index to = ((g / heads * t_count + i) * heads + g % heads) * width;
      for (Index j = 0; j <= i; ++j) {
        for (Index e = 0; e < width; ++e) a.o[to + e] += p[j] * v[(g * t_count + j) * width + e];
      }
    }
  }
  return a;
}

/// dq, dk, dv from dout [N C] through the softmax's Jacobian p_j (delta_jl - p_l).
inline HeadArrays attention_gradient(const Doubles& dout, const Doubles& q, const Doubles& k,
                                     const Doubles& v, const Doubles& p, Index b_count, Index heads,
                                     Index t_count, Index width) {
  const Index total = b_count * heads;
  const double scale = 1 / std::sqrt(double(width));
  HeadArrays d{Doubles(q.size(), 0.0), Doubles(q.size(), 0.0), Doubles(q.size(), 0.0)};
  Doubles dp(t_count);
  for (Index g = 0; g < total; ++g) {
    for (Index i = 0; i < t_count; ++i) {
      const double* const p_i = &p[(g * t_count + i) * t_count];
      const double* const dout_i = &dout[((g / heads * t_count + i) * heads + g % heads) * width];
      double mean = 0;
      for (Index j = 0; j <= i; ++j) {
        dp[j] = 0;
        for (Index e = 0; e < width; ++e) {
          dp[j] += dout_i[e] * v[(g * t_count + j) * width + e];
          d.v[(g * t_count + j) * width + e] += p_i[j] * dout_i[e];
        }
        mean += p_i[j] * dp[j];
      }
      for (Index j = 0; j <= i; ++j) {
        const double dlogit = p_i[j] * (dp[j] - mean) * scale;
        for (Index e = 0; e < width; ++e) {
          d.q[(g * t_count + i) * width + e] += dlogit * k[(g * t_count + j) * width + e];
          d.k[(g * t_count + j) * width + e] += dlogit * q[(g * t_count + i) * width + e];
        }
      }
    }
  }
  return d;
}

// --- hidden layers ------------------------------------------------------------------------------

/// silu(g) u for rows (gate [F], then u [F]).
inline Doubles swiglu(const Doubles& gu, Index n, Index f) {
  Doubles y(n * f);
  for (Index row = 0; row < n; ++row) {
    for (Index i = 0; i < f; ++i) {
      const double g = gu[row * 2 * f + i];
      y[row * f + i] = g / (1 + std::exp(-g)) * gu[row * 2 * f + f + i];
    }
  }
  return y;
}

inline Doubles gelu(const Doubles& x) {
  Doubles y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double s = std::sqrt(2 / std::acos(-1.0)) * (x[i] + 0.044715 * x[i] * x[i] * x[i]);
    y[i] = 0.5 * x[i] * (1 + std::tanh(s));
  }
  return y;
}

// --- softmax cross-entropy ----------------------------------------------------------------------

struct CrossEntropy {
  Doubles nll, gradient;
};

/// With the logits' largest value taken out, in long double.
inline CrossEntropy cross_entropy(const Doubles& logits, const std::vector<TokenId>& targets,
                                  Index v_count, double scale) {
  CrossEntropy out{Doubles(targets.size()), Doubles(logits.size())};
  for (std::size_t n = 0; n < targets.size(); ++n) {
    const double* const row = &logits[n * v_count];
    long double most = row[0], sum = 0;
    for (Index v = 0; v < v_count; ++v) most = std::max<long double>(most, row[v]);
    for (Index v = 0; v < v_count; ++v) sum += std::exp(row[v] - most);
    out.nll[n] = static_cast<double>(std::log(sum) + most - row[targets[n]]);
    for (Index v = 0; v < v_count; ++v) {
      const long double p = std::exp(row[v] - most) / sum;
      out.gradient[n * v_count + v] = static_cast<double>(scale * (p - (v == targets[n] ? 1 : 0)));
    }
  }
  return out;
}

}  // namespace lexikos::reference

// LEV, learned embedding vectorization: a token's base-b digits choose k codebook rows, their sum
// is the seed z, and h heads turn it into the input vector:
//   s_l = sigmoid(LN_l(W_l z) / 2)                     in (0, 1)^d
//   phi_l[d q] = sum_m B_m(s_l[d]) S_l[d m q]          quadratic B-splines on kappa knots
//   M_l[q] = product over d of phi_l[d q]              separable product
//   E = sum_l M_l W_out,l
// Source: Batley and Saha, arXiv 2601.22040 ("Leviathan"); README.md says what is stated there and
// what is our choice.
#pragma once

#include "embedding/codebooks.hpp"
#include "embedding/embedding.hpp"

namespace lexikos::lev {

/// What deck table [embedding.lev] says.
struct Settings {
  static constexpr const char* name = "lev";
  Index codebooks = 0;              // k
  Index base = 0;                   // b; 0: the smallest with b^k >= V
  Index seed_width = 0;             // d
  Index heads = 0;                  // h
  Index knots = 0;                  // kappa
  Index rank = 0;                   // r
  double spline_deviation = 0.0;    // of initial spline values
  std::string base_statement = {};  // the deck's, for messages

  static Settings read(const DeckTable& table);
  /// Throws Error(deck) where base^codebooks is less than the vocabulary.
  template <class S>
  std::unique_ptr<Embedding<S>> make(const ModelShape& shape) const;
};

/// b: the deck's, or the smallest with b^k >= vocabulary.
Index base_of(const Settings& settings, Index vocabulary);

/// Trainable parameters: k b d + h (d^2 + 2 d) + h d kappa r + h r D.
Index parameter_count(const Settings& settings, Index base, Index width);

}  // namespace lexikos::lev

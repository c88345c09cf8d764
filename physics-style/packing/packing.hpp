// Packing experiments: how small the largest cosine between k vectors in d dimensions can be.
// Source: Guha, "Representational Capacity", arXiv 2606.02765: the runs behind its capacity law.
//
// Optimised: x_i in R^d start as Gaussian directions of unit length; with u_i = x_i / |x_i| and G =
// U U^T,
//   loss = sum over all i, j of |G - I|_ij^p,   minimised by Adam at a constant learning rate;
//   epsilon = the largest |G_ij|, i != j, at the last step.
// Random: the same measure of Gaussian vectors that are left alone, the smallest of many trials.
//
// No k x k array exists: tiles of G on and above the diagonal are made, added to loss, maximum
// and gradient while in cache, and forgotten. A step costs 3 d k^2 operations.
#pragma once

#include <memory>
#include <string>

#include "kokkos_types.hpp"
#include "state/parameters.hpp"

namespace lexikos::packing {

/// k vectors in d dimensions.
struct Cell {
  Index dimension = 0;  // d
  Index count = 0;      // k
};

/// The exponent min(int(q / ln d), 20), with q = 60; 40 where d >= 1024 and k <= 4000; 50 where
/// d >= 3072 and k > 4000. `numerator` 0 chooses q so; else it is q. The published program has 40
/// for every k <= 4000, but the published values at d 32 and 64 are those of 60 (README.md).
Index published_power(const Cell& cell, Index numerator);

/// The published learning rate: 0.005 up to d = 1024, 0.0025 above.
double published_learning_rate(const Cell& cell);

inline constexpr Index largest_power = 20;

/// What one pass over the pairs found.
struct Pass {
  double loss = 0;     // sum over i != j of |G_ij|^p
  double epsilon = 0;  // largest |G_ij|, i != j
};

/// Operations of a step and of a pass without gradient; a multiply-add is 2.
inline double step_flops(const Cell& c) {
  return 3.0 * double(c.dimension) * double(c.count) * double(c.count);
}
inline double pass_flops(const Cell& c) { return step_flops(c) / 3.0; }

/// The vectors of one cell, and what a step needs. Memory: 6 k d + a tile.
template <class S>
class Vectors {
 public:
  /// `tile`: vectors in a block of G. `power` in 2 .. largest_power. With `optimise` false there is
  /// no gradient and no step, and memory is 2 k d. Throws Error(deck) on sizes below 2.
  Vectors(const Cell& cell, Index power, Index tile, bool optimise);

  /// Gaussian directions of unit length, a function of (seed, name, element) only.
  void draw(std::uint64_t seed, const std::string& name);

  /// One pass: overwrites the gradient (with `gradient`), and the sums that read() returns.
  void pass(const ExecSpace& space, bool gradient);

  /// One Adam step (Kingma and Ba, 2015; beta 0.9 and 0.999, epsilon 1e-8), step >= 1.
  void adam(const ExecSpace& space, double learning_rate, Index step);

  /// What the last pass found: waits for it and brings two numbers to the host.
  Pass read(const ExecSpace& space);

  /// The vectors x [k d] and the gradient of the loss with respect to them [k d].
  View2<S> vectors() const { return x_.value2(); }
  View2<S> gradient() const { return x_.gradient2(); }

 private:
  void normalise(const ExecSpace& space);
  void add_tile(const ExecSpace& space, Index row, Index column, bool gradient);
  void project(const ExecSpace& space);

  Cell cell_;
  Index power_, tile_;
  Parameters<S> parameters_;
  Weight<S> x_;              // [k d]
  Buffer<S> unit_, length_;  // u [k d], 1 / |x| [k]
  Buffer<S> block_;          // a tile of G
  Buffer<double> loss_;      // [k] of each row: pairs with later vectors
  Buffer<S> largest_;        // [k] the same
  Buffer<double> sums_;      // loss, largest
};

}  // namespace lexikos::packing

// Which of several sources each sample comes from.
#pragma once

#include <cstdint>
#include <vector>

#include "kokkos_types.hpp"

namespace lexikos {

/// Deals the samples 0, 1, 2, ... out to sources in proportion to weights: a pure function of
/// (seed, sample), so that it is the same on every rank and after every restart, and nothing is
/// stored.
///
/// Sample g is given the number v = reverse(g mod 2^32) xor key(seed), where reverse turns the
/// order of the 32 bits round (van der Corput's sequence, digitally shifted), and goes to the
/// source in whose part of [0, 2^32) v lies; the parts are as long as the weights say. Every 2^k
/// neighbouring samples that begin at a multiple of 2^k hit each 2^-k of the range exactly once, so
/// after n samples each source is within 2 (log2 n + 1) of its share, and after 2^32 exact.
class WeightedTurns {
 public:
  /// Errors (Status::deck): no weight, one that is not positive, one that is less than 2^-31 of
  /// all.
  WeightedTurns(std::uint64_t seed, const std::vector<double>& weights);

  struct Turn {
    Index source = 0;
    Index number = 0;  ///< how many earlier samples the source had
  };
  /// Sample >= 0.
  [[nodiscard]] Turn turn(Index sample) const;

 private:
  [[nodiscard]] std::uint64_t below(std::uint64_t samples, std::uint64_t bound) const;

  std::uint32_t key_ = 0;
  std::vector<std::uint64_t> bounds_;  // 0, ..., 2^32: source s has [bounds_[s], bounds_[s + 1])
};

}  // namespace lexikos

// The order of the samples: shuffled anew every epoch, computed on the fly, nothing stored.
#pragma once

#include <cstdint>

#include "kokkos_types.hpp"

namespace lexikos {

/// A permutation of [0, sample_count) for every epoch: a pure function of (seed, epoch, position),
/// never of rank count or micro-batch. A Feistel network over the bits of the position, keyed by
/// Philox with (seed, epoch); a value that falls outside is sent through again until it is inside,
/// which keeps it a bijection (cycle walking: fewer than two passes on average).
class SampleOrder {
 public:
  /// Errors (Status::deck): sample_count < 1.
  SampleOrder(std::uint64_t seed, Index sample_count);

  /// The sample that is read as number `global` since the start of training (global >= 0):
  /// epoch = global / sample_count, position = global % sample_count.
  [[nodiscard]] Index sample(Index global) const;
  /// The sample at a position of an epoch.
  [[nodiscard]] Index sample(Index epoch, Index position) const;

  [[nodiscard]] Index sample_count() const { return static_cast<Index>(count_); }

 private:
  std::uint64_t seed_;
  std::uint64_t count_;
  int low_bits_;   // the position's bits, in two halves
  int high_bits_;  // low_bits_ or one less
};

}  // namespace lexikos

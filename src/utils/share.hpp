// How a number of things is dealt out to the ranks.
#pragma once

#include <algorithm>

#include "kokkos_types.hpp"

namespace lexikos {

/// A half-open range.
struct Share {
  Index begin = 0;
  Index end = 0;
  [[nodiscard]] Index size() const { return end - begin; }
  bool operator==(const Share&) const = default;
};

/// The part of [0, count) that belongs to `rank`: contiguous, in rank order, sizes that differ by
/// at most one (the first count % rank_count ranks have one more).
inline Share share_of(Index count, int rank, int rank_count) {
  const Index base = count / rank_count;
  const Index longer = count % rank_count;
  const Index begin = rank * base + std::min<Index>(rank, longer);
  return {begin, begin + base + (rank < longer ? 1 : 0)};
}

}  // namespace lexikos

// The kernel that turns a tile of cosines into sums, histogram counts and extremes of rows.
#pragma once

#include <vector>

#include "kokkos_types.hpp"

namespace lexikos::capacity {

/// One tile and where its numbers go. n is the length of the list, i and j its positions.
template <class S>
struct CosineTile {
  View2<const S> cosines;  // [rows columns], read only
  Index first_row, first_column;
  // c' = p_i p_j c - q_i s_j - s_i (q_j - s_j); all [n], read only; empty: c' = c.
  View1<const S> p, q, s;
  S bin_scale;  // bins / 2
  Index bins;
  double shift;
  Index slots;                  // rows are dealt out to slots, each with sums and counts of its own
  View2<double> sums;           // [slots 4], added to: pairs, sum, square, cube of c' - shift
  View2<std::uint32_t> counts;  // [slots copies * bins], added to
  View1<S> smallest, largest;   // [rows], overwritten; 2 and -2 for a row without pairs
};

/// Copies of the histogram in a slot on the host: neighbouring cosines fall into the same bin, and
/// an increment must not wait for the one before.
inline constexpr Index histogram_copies = device_is_host ? 4 : 1;

template <class S>
KOKKOS_FORCEINLINE_FUNCTION S clamp_cosine(S c) {
  return c > S(1) ? S(1) : c < S(-1) ? S(-1) : c;
}

/// The value of a pair, with the row's numbers in registers.
template <class S>
struct RowValue {
  S p, q, s;
  const S *pj, *qj, *sj;
  bool plain;

  KOKKOS_FORCEINLINE_FUNCTION RowValue(const CosineTile<S>& tile, Index row)
      : p(1), q(0), s(0), pj(nullptr), qj(nullptr), sj(nullptr), plain(tile.p.size() == 0) {
    if (plain) return;
    const Index i = tile.first_row + row;
    p = tile.p(i);
    q = tile.q(i);
    s = tile.s(i);
    pj = tile.p.data() + tile.first_column;
    qj = tile.q.data() + tile.first_column;
    sj = tile.s.data() + tile.first_column;
  }
  KOKKOS_FORCEINLINE_FUNCTION S centred(S c, Index j) const {
    return clamp_cosine<S>(p * pj[j] * c - q * sj[j] - s * (qj[j] - sj[j]));
  }
  KOKKOS_FORCEINLINE_FUNCTION S operator()(S c, Index j) const {
    return plain ? clamp_cosine<S>(c) : centred(c, j);
  }
};

/// First column of a row that stands right of the diagonal.
template <class S>
KOKKOS_FORCEINLINE_FUNCTION Index first_column_of(const CosineTile<S>& tile, Index row) {
  const Index begin = tile.first_row + row + 1 - tile.first_column;
  return begin > 0 ? begin : 0;
}

/// Tallies a tile. Asynchronous on a device.
template <class S>
void tally_tile(const ExecSpace& space, const CosineTile<S>& tile);

/// totals[bin] += counts of all slots and copies, which become 0.
void drain_counts(const ExecSpace& space, View2<std::uint32_t> counts, Index bins,
                  View1<std::uint64_t> totals);

}  // namespace lexikos::capacity

#include "capacity/tally.hpp"

#include <algorithm>

namespace lexikos::capacity {
namespace {

template <class S>
KOKKOS_FORCEINLINE_FUNCTION int bin_of(S c, S bin_scale, int last) {
  const int bin = static_cast<int>((c + S(1)) * bin_scale);
  return bin < last ? bin : last;
}

constexpr Index chunk = 256;  // columns whose values and bins are in cache level 1 together

/// Values and bins of a stretch of columns; `plain` is known where this is compiled.
template <class S, bool plain>
void evaluate(const CosineTile<S>& tile, const RowValue<S>& value, const S* c, Index begin,
              Index count, S* out, int* bins, S& smallest, S& largest) {
  const S scale = tile.bin_scale;
  const int last = static_cast<int>(tile.bins) - 1;
  S low = smallest, high = largest;
#pragma omp simd reduction(min : low) reduction(max : high)
  for (Index k = 0; k < count; ++k) {
    const S x = plain ? clamp_cosine<S>(c[k]) : value.centred(c[k], begin + k);
    out[k] = x;
    bins[k] = bin_of(x, scale, last);
    low = x < low ? x : low;
    high = x > high ? x : high;
  }
  smallest = low;
  largest = high;
}

template <class S>
struct TallyOnHost {
  CosineTile<S> tile;

  void operator()(const Index slot) const {
    double sums[4] = {0, 0, 0, 0};
    std::uint32_t* counts = &tile.counts(slot, 0);
    const Index rows = static_cast<Index>(tile.cosines.extent(0));
    for (Index row = slot; row < rows; row += tile.slots) tally_row(row, sums, counts);
    for (int k = 0; k < 4; ++k) tile.sums(slot, k) += sums[k];
  }

  void tally_row(Index row, double* sums, std::uint32_t* counts) const {
    const Index columns = static_cast<Index>(tile.cosines.extent(1));
    const S* cosines = &tile.cosines(row, 0);
    const RowValue<S> value(tile, row);
    S smallest = 2, largest = -2;
    S values[chunk];
    int bins[chunk];
    for (Index begin = first_column_of(tile, row); begin < columns; begin += chunk) {
      const Index count = std::min(chunk, columns - begin);
      if (value.plain) {
        evaluate<S, true>(tile, value, cosines + begin, begin, count, values, bins, smallest,
                          largest);
      } else {
        evaluate<S, false>(tile, value, cosines + begin, begin, count, values, bins, smallest,
                           largest);
      }
      add_sums(values, count, sums);
      add_counts(bins, count, counts);
    }
    tile.smallest(row) = smallest;
    tile.largest(row) = largest;
  }

  void add_sums(const S* values, Index count, double* sums) const {
    const double shift = tile.shift;
    double sum = 0, square = 0, cube = 0;
#pragma omp simd reduction(+ : sum, square, cube)
    for (Index k = 0; k < count; ++k) {
      const double x = static_cast<double>(values[k]) - shift;
      sum += x;
      square += x * x;
      cube += x * x * x;
    }
    sums[0] += static_cast<double>(count);
    sums[1] += sum;
    sums[2] += square;
    sums[3] += cube;
  }

  void add_counts(const int* bins, Index count, std::uint32_t* counts) const {
    const Index n = tile.bins;
    Index k = 0;
    for (; k + 4 <= count; k += 4) {
      ++counts[bins[k]];
      ++counts[n + bins[k + 1]];
      ++counts[2 * n + bins[k + 2]];
      ++counts[3 * n + bins[k + 3]];
    }
    for (; k < count; ++k) ++counts[bins[k]];
  }
};

/// The same on a team of device threads; integer atomics do not depend on their order.
template <class S>
struct TallyOnDevice {
  CosineTile<S> tile;

  KOKKOS_FUNCTION void operator()(const TeamLane& lane, const Index slot) const {
    const Index rows = static_cast<Index>(tile.cosines.extent(0));
    for (Index row = slot; row < rows; row += tile.slots) tally_row(lane, slot, row);
  }

  KOKKOS_FUNCTION void tally_row(const TeamLane& lane, Index slot, Index row) const {
    const Index begin = first_column_of(tile, row);
    const Index count = static_cast<Index>(tile.cosines.extent(1)) - begin;
    const RowValue<S> value(tile, row);
    const auto at = [&](Index k) { return value(tile.cosines(row, begin + k), begin + k); };
    const auto about = [&](Index k) { return static_cast<double>(at(k)) - tile.shift; };
    const double sum = lane.template sum<double>(count, about);
    const double square =
        lane.template sum<double>(count, [&](Index k) { return about(k) * about(k); });
    const double cube =
        lane.template sum<double>(count, [&](Index k) { return about(k) * about(k) * about(k); });
    const S largest = count > 0 ? lane.template max<S>(count, at) : S(-2);
    const S smallest =
        count > 0 ? -lane.template max<S>(count, [&](Index k) { return -at(k); }) : S(2);
    lane.for_each(count, [&](Index k) {
      const int bin = bin_of(at(k), tile.bin_scale, static_cast<int>(tile.bins) - 1);
      Kokkos::atomic_add(&tile.counts(slot, bin), 1u);
    });
    lane.once([&] {
      if (count > 0) tile.sums(slot, 0) += static_cast<double>(count);
      tile.sums(slot, 1) += sum;
      tile.sums(slot, 2) += square;
      tile.sums(slot, 3) += cube;
      tile.smallest(row) = smallest;
      tile.largest(row) = largest;
    });
    lane.barrier();
  }
};

}  // namespace

template <class S>
void tally_tile(const ExecSpace& space, const CosineTile<S>& tile) {
  if constexpr (device_is_host) {
    Kokkos::parallel_for(
        "Lexikos::capacity::tally",
        Kokkos::RangePolicy<ExecSpace, Kokkos::IndexType<Index>>(space, 0, tile.slots),
        TallyOnHost<S>{tile});
  } else {
    for_rows("Lexikos::capacity::tally", space, tile.slots, TallyOnDevice<S>{tile});
  }
}

template void tally_tile<float>(const ExecSpace&, const CosineTile<float>&);
template void tally_tile<double>(const ExecSpace&, const CosineTile<double>&);

void drain_counts(const ExecSpace& space, View2<std::uint32_t> counts, Index bins,
                  View1<std::uint64_t> totals) {
  const Index slots = static_cast<Index>(counts.extent(0));
  const Index copies = static_cast<Index>(counts.extent(1)) / bins;
  for_each(
      "Lexikos::capacity::drain", space, bins, KOKKOS_LAMBDA(const Index bin) {
        std::uint64_t sum = 0;
        for (Index slot = 0; slot < slots; ++slot) {
          for (Index copy = 0; copy < copies; ++copy) {
            std::uint32_t& count = counts(slot, copy * bins + bin);
            sum += count;
            count = 0;
          }
        }
        totals(bin) += sum;
      });
}

}  // namespace lexikos::capacity

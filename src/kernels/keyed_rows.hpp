// Sums of rows by an arbitrary key, the same bits whenever the same device computes them: entries
// are sorted by their key, and each sum has one owner that adds its entries in ascending order. The
// work grows with entries and with keys, never with their product.
#pragma once

#include "kokkos_types.hpp"

namespace lexikos::keyed_rows {

/// Entries by key: those of key k are entry[begin[k]], ..., entry[begin[k + 1] - 1], ascending.
struct Buckets {
  View1<std::int32_t> begin;  // [K + 1]
  View1<std::int32_t> entry;  // [N]
};

namespace detail {

/// Restores the heap below `root` of x[0, count): no number is larger than the one above it.
KOKKOS_INLINE_FUNCTION void sift_down(std::int32_t* x, Index root, Index count) {
  for (Index child = 2 * root + 1; child < count; child = 2 * root + 1) {
    if (child + 1 < count && x[child + 1] > x[child]) ++child;
    if (x[root] >= x[child]) return;
    const std::int32_t above = x[root];
    x[root] = x[child];
    x[child] = above;
    root = child;
  }
}

/// Sorts x[0, count) in place, ascending.
KOKKOS_INLINE_FUNCTION void heap_sort(std::int32_t* x, Index count) {
  for (Index root = count / 2 - 1; root >= 0; --root) sift_down(x, root, count);
  for (Index last = count - 1; last > 0; --last) {
    const std::int32_t largest = x[0];
    x[0] = x[last];
    x[last] = largest;
    sift_down(x, 0, last);
  }
}

}  // namespace detail

/// Sorts the entries n < N by key[n] in [0, K). Reads key [N]; overwrites the buckets and cursor
/// [K]. Atomics only count and place whole numbers, whose order each bucket's sort then takes away.
inline void sort(const ExecSpace& space, View1<const std::int32_t> key, View1<std::int32_t> cursor,
                 const Buckets& buckets) {
  const Region region("Lexikos::keyed_rows::sort", {.bytes = bytes_of(key, key, buckets.entry)});
  const Index keys = cursor.extent(0), entries = key.extent(0);
  const View1<std::int32_t> begin = buckets.begin, entry = buckets.entry;
  using Range = Kokkos::RangePolicy<ExecSpace, Kokkos::IndexType<Index>>;
  Kokkos::deep_copy(space, cursor, 0);
  Kokkos::parallel_for(
      "Lexikos::keyed_rows::count", Range(space, 0, entries), KOKKOS_LAMBDA(const Index n) {
        Kokkos::atomic_add(&cursor.data()[key.data()[n]], std::int32_t{1});
      });
  Kokkos::parallel_scan(
      "Lexikos::keyed_rows::begin", Range(space, 0, keys + 1),
      KOKKOS_LAMBDA(const Index k, std::int32_t& before, const bool last) {
        if (last) begin.data()[k] = before;
        if (k < keys) before += cursor.data()[k];
      });
  Kokkos::parallel_for(
      "Lexikos::keyed_rows::first_places", Range(space, 0, keys),
      KOKKOS_LAMBDA(const Index k) { cursor.data()[k] = begin.data()[k]; });
  Kokkos::parallel_for(
      "Lexikos::keyed_rows::place", Range(space, 0, entries), KOKKOS_LAMBDA(const Index n) {
        const std::int32_t at =
            Kokkos::atomic_fetch_add(&cursor.data()[key.data()[n]], std::int32_t{1});
        entry.data()[at] = static_cast<std::int32_t>(n);
      });
  Kokkos::parallel_for(
      "Lexikos::keyed_rows::order", Range(space, 0, keys), KOKKOS_LAMBDA(const Index k) {
        const Index first = begin.data()[k];
        detail::heap_sort(entry.data() + first, begin.data()[k + 1] - first);
      });
}

/// sums[k] += the rows of x that the entries of key k belong to, in the order of the entries; entry
/// n belongs to row n / entries_per_row. Reads x [N / entries_per_row, W]; adds to sums [K W].
template <class S>
void add(const ExecSpace& space, const Buckets& buckets, Index entries_per_row, View2<const S> x,
         View2<S> sums) {
  const Region region("Lexikos::keyed_rows::add", {.bytes = bytes_of(x, sums, sums)});
  constexpr Index piece = 256;  // columns of one task, so that few keys keep a device busy
  const Index width = x.extent(1), pieces = (width + piece - 1) / piece;
  const View1<std::int32_t> begin = buckets.begin, entry = buckets.entry;
  for_rows(
      "Lexikos::keyed_rows::add", space, sums.extent(0) * pieces,
      KOKKOS_LAMBDA(const Lane& lane, const Index i) {
        const Index k = i / pieces, first = i % pieces * piece;
        const Index columns = width - first < piece ? width - first : piece;
        S* const to = sums.data() + k * width + first;
        for (std::int32_t j = begin.data()[k]; j < begin.data()[k + 1]; ++j) {
          const Index row = entry.data()[j] / entries_per_row;
          const S* const from = x.data() + row * width + first;
          lane.for_each(columns, [=](const Index c) { to[c] += from[c]; });
        }
      });
}

}  // namespace lexikos::keyed_rows

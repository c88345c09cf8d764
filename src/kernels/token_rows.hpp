// Rows that belong to tokens: copied to positions, and summed back without atomics.
// A token's positions are bucketed on the host when the batch is built
// (data/batches/step_batch.hpp), so every sum has one owner and a fixed order.
#pragma once

#include "kokkos_types.hpp"

namespace lexikos::token_rows {

/// x[n] = e[slot[n]]. Reads e [U C], slot [N]; overwrites x [N C].
template <class S>
void spread(const ExecSpace& space, View2<const S> e, View1<const std::int32_t> slot, View2<S> x) {
  const Region region("Lexikos::token_rows::spread", {.bytes = bytes_of(x, x, slot)});
  const Index c_count = x.extent(1);
  for_rows(
      "Lexikos::token_rows::spread", space, x.extent(0),
      KOKKOS_LAMBDA(const Lane& lane, const Index n) {
        const S* const from = e.data() + slot.data()[n] * c_count;
        S* const to = x.data() + n * c_count;
        lane.for_each(c_count, [=](const Index c) { to[c] = from[c]; });
      });
}

/// de[touched[i]] += sum of dx over the positions of bucket i. Reads dx [N C], touched [I],
/// bucket_begin [I+1], bucket_position [N]; adds to de [U C].
template <class S>
void gather(const ExecSpace& space, View2<const S> dx, View1<const std::int32_t> touched,
            View1<const std::int32_t> bucket_begin, View1<const std::int32_t> bucket_position,
            View2<S> de) {
  const Region region("Lexikos::token_rows::gather",
                      {.bytes = bytes_of(dx, touched, bucket_position)});
  const Index c_count = dx.extent(1);
  for_rows(
      "Lexikos::token_rows::gather", space, touched.extent(0),
      KOKKOS_LAMBDA(const Lane& lane, const Index i) {
        S* const to = de.data() + touched.data()[i] * c_count;
        const std::int32_t end = bucket_begin.data()[i + 1];
        for (std::int32_t j = bucket_begin.data()[i]; j < end; ++j) {
          const S* const from = dx.data() + bucket_position.data()[j] * c_count;
          lane.for_each(c_count, [=](const Index c) { to[c] += from[c]; });
        }
      });
}

/// e[u] = table[tokens[u]]. Reads table [V C], tokens [U]; overwrites e [U C].
template <class S>
void take(const ExecSpace& space, View2<const S> table, View1<const TokenId> tokens, View2<S> e) {
  const Region region("Lexikos::token_rows::take", {.bytes = bytes_of(e, e, tokens)});
  const Index c_count = e.extent(1);
  for_rows(
      "Lexikos::token_rows::take", space, tokens.extent(0),
      KOKKOS_LAMBDA(const Lane& lane, const Index u) {
        const S* const from = table.data() + Index(tokens.data()[u]) * c_count;
        S* const to = e.data() + u * c_count;
        lane.for_each(c_count, [=](const Index c) { to[c] = from[c]; });
      });
}

/// dtable[tokens[u]] += de[u] for distinct tokens. Reads de [U C]; adds to dtable [V C].
template <class S>
void add(const ExecSpace& space, View2<const S> de, View1<const TokenId> tokens, View2<S> dtable) {
  const Region region("Lexikos::token_rows::add", {.bytes = bytes_of(de, de, de, tokens)});
  const Index c_count = de.extent(1);
  for_rows(
      "Lexikos::token_rows::add", space, tokens.extent(0),
      KOKKOS_LAMBDA(const Lane& lane, const Index u) {
        const S* const from = de.data() + u * c_count;
        S* const to = dtable.data() + Index(tokens.data()[u]) * c_count;
        lane.for_each(c_count, [=](const Index c) { to[c] += from[c]; });
      });
}

}  // namespace lexikos::token_rows

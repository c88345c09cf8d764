// Base-b codebooks: token i has digits i_1 .. i_k in base b, most significant first, and each digit
// chooses a row of its codebook. What `lev` and `factored_mlp` share.
// Source: Batley and Saha, arXiv 2601.22040.
#pragma once

#include <string>

#include "kernels/keyed_rows.hpp"
#include "kokkos_types.hpp"
#include "state/memory.hpp"

namespace lexikos {

struct Codebooks {
  Index count;                                                        // k
  Index base;                                                         // b
  KOKKOS_INLINE_FUNCTION Index rows() const { return count * base; }  // of all, stacked
};

/// base^exponent, but no more than the first power past any token id.
inline Index power(Index base, Index exponent) {
  Index value = 1;
  for (Index i = 0; i < exponent && value <= Index{1} << 32; ++i) value *= base;
  return value;
}

/// Smallest b with b^k >= vocabulary, in integers.
inline Index smallest_base(Index vocabulary, Index codebooks) {
  Index base = 1;
  while (power(base, codebooks) < vocabulary) ++base;
  return base;
}

/// digit[u j] = row of the stacked codebooks for digit j of token u. Overwrites digit [U k].
inline void digits(const ExecSpace& space, Codebooks books, View1<const TokenId> tokens,
                   View2<std::int32_t> digit) {
  for_each(
      "Lexikos::codebooks::digits", space, tokens.extent(0), KOKKOS_LAMBDA(const Index u) {
        Index rest = tokens.data()[u];
        for (Index j = books.count - 1; j >= 0; --j) {
          digit.data()[u * books.count + j] =
              static_cast<std::int32_t>(j * books.base + rest % books.base);
          rest /= books.base;
        }
      });
}

/// x[u] = sum over j of table[digit[u j]]. Reads digit [U k], table [k b, W]; overwrites x [U W].
template <class S>
void sum_rows(const ExecSpace& space, Codebooks books, View2<const std::int32_t> digit,
              View2<const S> table, View2<S> x) {
  const Index width = table.extent(1);
  for_rows(
      "Lexikos::codebooks::sum_rows", space, digit.extent(0),
      KOKKOS_LAMBDA(const Lane& lane, const Index u) {
        S* const to = x.data() + u * width;
        lane.for_each(width, [=](const Index c) { to[c] = S(0); });
        for (Index j = 0; j < books.count; ++j) {
          const S* const from = table.data() + digit.data()[u * books.count + j] * width;
          lane.for_each(width, [=](const Index c) { to[c] += from[c]; });
        }
      });
}

/// Sums of rows by digit, with their room.
class DigitSums {
 public:
  /// Reserves the room for up to `tokens` tokens in the phase that the caller has begun.
  void declare(Memory& memory, Codebooks books, Index tokens) {
    begin_ = memory.scratch<std::int32_t>("digits' buckets", books.rows() + 1);
    cursor_ = memory.scratch<std::int32_t>("digits' cursors", books.rows());
    entry_ = memory.scratch<std::int32_t>("tokens by digit", tokens * books.count);
  }

  /// sums[row] += the rows of x of the tokens one of whose digits is that row, in ascending order.
  /// Reads digit [U k], x [U W]; adds to sums [k b, W].
  template <class S>
  void add(const ExecSpace& space, View2<const std::int32_t> digit, View2<const S> x,
           View2<S> sums) const {
    const Index entries = digit.size();
    const keyed_rows::Buckets buckets{begin_.all(), entry_.column(entries)};
    keyed_rows::sort(space, View1<const std::int32_t>(digit.data(), entries), cursor_.all(),
                     buckets);
    keyed_rows::add<S>(space, buckets, digit.extent(1), x, sums);
  }

 private:
  Rows<std::int32_t> begin_, cursor_, entry_;
};

}  // namespace lexikos

// Which keys a query sees where a sequence is not one text: documents one after the other, or one
// context that several continuations share.
#pragma once

#include <cstdint>

#include "kokkos_types.hpp"

namespace lexikos {

/// Query n, at place t of its sequence, sees the keys at places [shared_begin(n), shared_end(n))
/// and [own_begin(n), t] of the same sequence; 0 <= shared_begin <= shared_end <= own_begin <= t.
/// Its rotary turn is that of position(n), 0 <= position < T. Views [N], or all empty: then it sees
/// [0, t] and position = t.
///
///   documents:      own_begin = where the document begins, nothing shared, position = t
///   a shared context and its continuations: in the context as a document; in a continuation shared
///                   = the context, own_begin = where the continuation begins, and position goes on
///                   from the context's length
struct Spans {
  View1<const std::int32_t> position;
  View1<const std::int32_t> shared_begin;
  View1<const std::int32_t> shared_end;
  View1<const std::int32_t> own_begin;
  [[nodiscard]] bool plain() const { return own_begin.extent(0) == 0; }
};

/// The keys of one query inside a tile of them: places [a_begin, a_end) and [b_begin, b_end) of the
/// tile, a_end <= b_begin.
struct TileSight {
  Index a_begin, a_end, b_begin, b_end;
};

/// Spans as a kernel captures them.
class SpanRows {
 public:
  /// `heads` and `t`: of attention's layout [B H T E].
  SpanRows(const Spans& spans, Index heads, Index t)
      : shared_begin_(spans.shared_begin.data()),
        shared_end_(spans.shared_end.data()),
        own_begin_(spans.own_begin.data()),
        heads_(heads),
        t_(t) {}

  /// What query `query` of head g = b H + h sees of the keys [first_key, first_key + keys).
  KOKKOS_FORCEINLINE_FUNCTION TileSight sight(Index g, Index query, Index first_key,
                                              Index keys) const {
    const Index b_end = inside(query + 1 - first_key, 0, keys);
    if (own_begin_ == nullptr) return {0, 0, 0, b_end};
    const Index n = g / heads_ * t_ + query;
    const Index a_begin = inside(shared_begin_[n] - first_key, 0, keys);
    const Index a_end = inside(shared_end_[n] - first_key, a_begin, keys);
    return {a_begin, a_end, inside(own_begin_[n] - first_key, a_end, b_end), b_end};
  }

 private:
  static KOKKOS_FORCEINLINE_FUNCTION Index inside(Index x, Index low, Index high) {
    return x < low ? low : (x > high ? high : x);
  }
  const std::int32_t* shared_begin_;
  const std::int32_t* shared_end_;
  const std::int32_t* own_begin_;
  Index heads_, t_;
};

}  // namespace lexikos

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
  bool documents_only = false;  ///< true: nothing is shared anywhere, which saves looking for it
  [[nodiscard]] bool plain() const { return own_begin.extent(0) == 0; }
};

/// Which keys each query of a layer sees: those that `spans` show, and of these, where there is a
/// window W > 0, the ones at the last W positions, the query's own included: position(key) >
/// position(query) - W. A continuation so looks back through the end of its shared context.
/// Source: Beltagy et al., "Longformer" (2020), section 3.1, causal as in Jiang et al., "Mistral
/// 7B" (2023), section 2.
struct Sight {
  Sight() = default;
  Sight(const Spans& spans, Index window = 0) : spans(spans), window(window) {}  // NOLINT: a value

  /// The first key that any query from place `query` on may see, the shared ones aside; 0 where
  /// shared ones may lie anywhere before.
  [[nodiscard]] Index first_key(Index query) const {
    const bool bounded = window > 0 && (spans.plain() || spans.documents_only);
    return bounded && query >= window ? query - window + 1 : 0;
  }

  Spans spans;
  Index window = 0;
};

/// The keys of one query inside a tile of them: places [a_begin, a_end) and [b_begin, b_end) of the
/// tile, a_end <= b_begin.
struct TileSight {
  Index a_begin, a_end, b_begin, b_end;
};

/// A Sight as a kernel captures it.
class SightRows {
 public:
  /// `heads` and `t`: of attention's layout [B H T E].
  SightRows(const Sight& sight, Index heads, Index t)
      : position_(sight.spans.position.data()),
        shared_begin_(sight.spans.shared_begin.data()),
        shared_end_(sight.spans.shared_end.data()),
        own_begin_(sight.spans.own_begin.data()),
        // As good as none: no query is so far on.
        window_(sight.window > 0 ? sight.window : t),
        heads_(heads),
        t_(t) {}

  /// What query `query` of head g = b H + h sees of the keys [first_key, first_key + keys).
  KOKKOS_FORCEINLINE_FUNCTION TileSight sight(Index g, Index query, Index first_key,
                                              Index keys) const {
    const Index b_end = inside(query + 1 - first_key, 0, keys);
    const Index in_window = query - window_ + 1;
    if (own_begin_ == nullptr) return {0, 0, inside(in_window - first_key, 0, b_end), b_end};
    const Index sequence = g / heads_ * t_, n = sequence + query;
    const Index shared = first_shared(sequence, n);
    const Index a_begin = inside(shared - first_key, 0, keys);
    const Index a_end = inside(shared_end_[n] - first_key, a_begin, keys);
    const Index own = own_begin_[n] > in_window ? own_begin_[n] : in_window;
    return {a_begin, a_end, inside(own - first_key, a_end, b_end), b_end};
  }

 private:
  /// The first shared place that is in the window: positions go on from one shared key to the next.
  KOKKOS_FORCEINLINE_FUNCTION Index first_shared(Index sequence, Index n) const {
    const Index begin = shared_begin_[n];
    if (begin >= shared_end_[n]) return begin;
    const Index beyond = position_[n] - window_ + 1 - position_[sequence + begin];
    return beyond > 0 ? begin + beyond : begin;
  }
  static KOKKOS_FORCEINLINE_FUNCTION Index inside(Index x, Index low, Index high) {
    return x < low ? low : (x > high ? high : x);
  }
  const std::int32_t* position_;
  const std::int32_t* shared_begin_;
  const std::int32_t* shared_end_;
  const std::int32_t* own_begin_;
  Index window_, heads_, t_;
};

}  // namespace lexikos

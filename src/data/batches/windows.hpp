// Windows: the pieces of a source that a sequence of the model is made of.
#pragma once

#include <cstdint>
#include <vector>

#include "data/tokens/token_source.hpp"

namespace lexikos {

/// Windows of context T: the one that begins at token b has the inputs ids[b .. b + T - 1] and as
/// targets the same shifted by one, so T + 1 tokens, of which the last is the first of the next
/// window. A segment of n tokens has (n - 1) / T of them; the tokens behind its last window are
/// never read. Keeps two numbers a segment.
class Windows {
 public:
  /// Errors: T < 1 (Status::deck); not one whole window (Status::file).
  Windows(const TokenSource& source, Index T);

  [[nodiscard]] Index count() const { return count_; }
  /// First token of a window, window < count().
  [[nodiscard]] Index begin(Index window) const;

 private:
  struct Segment {
    Index first_window, first_token;
  };
  Index T_;
  Index count_ = 0;
  std::vector<Segment> segments_;  // those that hold a window
};

/// Windows(source, T).count().
Index window_count(const TokenSource& source, Index T);

/// What an evaluation reads: `count` of the `total` windows of a source, in order and evenly spread
/// over it, so that a part of a file stands for all of its documents.
struct WindowSelection {
  Index count = 0;
  Index total = 0;
  /// The window that is number i of the selection, i < count.
  [[nodiscard]] Index window(Index i) const { return i * total / count; }
};

/// Windows of `source` that together hold at most `tokens` targets (at least one window);
/// tokens <= 0 stands for all. Errors: as Windows.
WindowSelection select_windows(const TokenSource& source, Index T, Index tokens);

/// How often each id is a target in the selected windows [V]. Errors (Status::file): an id that is
/// not below the vocabulary size.
std::vector<std::uint64_t> count_targets(const TokenSource& source, Index T,
                                         const WindowSelection& selection);

}  // namespace lexikos

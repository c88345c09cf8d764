// Requests laid out in rows of T positions, as the model evaluates them: each id that counts is
// predicted in exactly one place.
//
// A row holds bundles, one after the other. A bundle is a trunk, which may be empty, and branches:
// a branch sees the trunk and itself, nothing else. The trunk of a question is its context but for
// the last id; each choice's branch begins with that id again, so the choice's first id is
// predicted there. A text without choices is only a branch.
#pragma once

#include <vector>

#include "data/requests/requests_file.hpp"

namespace lexikos {

/// Consecutive ids of a request's text as inputs of the model; the last `scored` of them each
/// predict the id that follows in the text.
struct Stretch {
  Index request = 0;
  Index begin = 0;  ///< of the first input in the text
  Index inputs = 0;
  Index scored = 0;
};

struct Bundle {
  Stretch trunk;  ///< inputs = 0: none. scored = 0
  std::vector<Stretch> branches;
  [[nodiscard]] Index positions() const;
};

/// A request's text scored as a whole: the last T + 1 ids of context and continuation, the final
/// one no input. Of a continuation longer than T the last T ids are scored.
Stretch whole_text(const Requests& requests, Index request, Index T);

/// A page's windows of at most T inputs: every id is scored once, the first from the prefix. The
/// last window is a full one that scores what is left.
std::vector<Stretch> rolling_windows(const Requests& requests, Index request, Index T);

/// Every request as bundles of at most T positions. Choices of a question with the same context of
/// two ids or more share a trunk (`share`), as many as fit into a row; a request that is too long
/// for T is only a branch.
std::vector<Bundle> bundles_of(const Requests& requests, Index T, bool share);

/// Numbers of bundles for each row: the longest first, each into the fullest row that has room.
std::vector<std::vector<Index>> pack_rows(const std::vector<Bundle>& bundles, Index T);

}  // namespace lexikos

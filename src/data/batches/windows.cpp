#include "data/batches/windows.hpp"

#include <algorithm>

#include "utils/error.hpp"

namespace lexikos {

Windows::Windows(const TokenSource& source, Index T) : T_(T) {
  if (T < 1) fail(Status::deck, "the context must be at least 1 token; it is " + std::to_string(T));
  std::vector<Index> begins = source.segments();
  begins.push_back(source.size());
  for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
    const Index windows = (begins[i + 1] - begins[i] - 1) / T;
    if (windows < 1) continue;
    segments_.push_back({count_, begins[i]});
    count_ += windows;
  }
  if (count_ < 1) {
    fail(Status::file, "'" + source.name() + "' has " + std::to_string(source.size()) +
                           " tokens and one window of context " + std::to_string(T) + " needs " +
                           std::to_string(T + 1) + "; prepare more text or shorten the context");
  }
}

Index Windows::begin(Index window) const {
  const auto after = std::upper_bound(
      segments_.begin(), segments_.end(), window,
      [](Index number, const Segment& segment) { return number < segment.first_window; });
  const Segment& segment = *(after - 1);
  return segment.first_token + (window - segment.first_window) * T_;
}

Index window_count(const TokenSource& source, Index T) { return Windows(source, T).count(); }

WindowSelection select_windows(const TokenSource& source, Index T, Index tokens) {
  const Index all = window_count(source, T);
  if (tokens <= 0) return {all, all};
  return {std::clamp<Index>(tokens / T, 1, all), all};
}

std::vector<std::uint64_t> count_targets(const TokenSource& source, Index T,
                                         const WindowSelection& selection) {
  const Windows windows(source, T);
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(source.vocabulary_size()), 0);
  std::vector<TokenId> ids(static_cast<std::size_t>(T));
  for (Index i = 0; i < selection.count; ++i) {
    const Index begin = windows.begin(selection.window(i)) + 1;
    source.read(begin, T, ids.data());
    for (Index t = 0; t < T; ++t) {
      if (ids[t] >= counts.size()) fail_token_id(source, begin + t, ids[t]);
      ++counts[ids[t]];
    }
  }
  return counts;
}

}  // namespace lexikos

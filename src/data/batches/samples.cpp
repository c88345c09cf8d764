#include "data/batches/samples.hpp"

#include <algorithm>

#include "kernels/philox.hpp"
#include "utils/error.hpp"

namespace lexikos {

namespace {

std::uint64_t seed_of(std::uint64_t seed, std::size_t source) {
  return source == 0 ? seed : seed ^ stream_of("source " + std::to_string(source));
}

}  // namespace

Samples::Samples(const std::vector<WeightedSource>& sources, Index T, std::uint64_t seed) {
  std::vector<double> weights;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Windows windows(*sources[i].tokens, T);
    parts_.push_back({sources[i].tokens, windows, SampleOrder(seed_of(seed, i), windows.count())});
    weights.push_back(sources[i].weight);
    count_ += windows.count();
  }
  if (sources.size() != 1) turns_.emplace(seed, weights);
}

Samples::Samples(const TokenSource& source, Index T, WindowSelection selection)
    : selection_(selection), count_(selection.count) {
  const Windows windows(source, T);
  if (selection.count < 1 || selection.count > windows.count() ||
      selection.total != windows.count()) {
    fail(Status::deck, std::to_string(selection.count) + " of " + std::to_string(selection.total) +
                           " windows cannot be selected from the " +
                           std::to_string(windows.count()) + " of '" + source.name() + "'");
  }
  parts_.push_back({&source, windows, SampleOrder(0, windows.count())});
}

Sample Samples::sample(Index g) const {
  if (selection_) return {0, parts_[0].windows.begin(selection_->window(g))};
  const WeightedTurns::Turn turn = turns_ ? turns_->turn(g) : WeightedTurns::Turn{0, g};
  const Part& part = parts_[static_cast<std::size_t>(turn.source)];
  return {turn.source, part.windows.begin(part.order.sample(turn.number))};
}

Index Samples::vocabulary_size() const {
  Index largest = 0;
  for (const Part& part : parts_) largest = std::max(largest, part.tokens->vocabulary_size());
  return largest;
}

bool Samples::reads_on_any_thread() const {
  return std::all_of(parts_.begin(), parts_.end(),
                     [](const Part& part) { return part.tokens->reads_on_any_thread(); });
}

}  // namespace lexikos

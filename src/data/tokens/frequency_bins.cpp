#include "data/tokens/frequency_bins.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "utils/error.hpp"

namespace lexikos {

FrequencyBins::FrequencyBins(const std::vector<double>& edges,
                             const std::vector<std::uint64_t>& train_counts, Index vocabulary) {
  if (static_cast<Index>(train_counts.size()) > vocabulary) {
    fail(Status::file, "there are training counts of " + std::to_string(train_counts.size()) +
                           " ids and the vocabulary has " + std::to_string(vocabulary));
  }
  const auto total = std::accumulate(train_counts.begin(), train_counts.end(), std::uint64_t{0});
  if (total == 0) fail(Status::file, "the training counts of all ids are zero");

  double lower = 0;
  for (const double edge : edges) {
    bins_.push_back({lower, edge, 0});
    lower = edge;
  }
  bins_.push_back({lower, std::numeric_limits<double>::infinity(), 0});

  bin_of_.resize(static_cast<std::size_t>(vocabulary));
  for (std::size_t id = 0; id < bin_of_.size(); ++id) {
    const std::uint64_t count = id < train_counts.size() ? train_counts[id] : 0;
    const double frequency = static_cast<double>(count) / static_cast<double>(total);
    const auto bin = std::upper_bound(edges.begin(), edges.end(), frequency) - edges.begin();
    bin_of_[id] = static_cast<std::uint8_t>(bin);
    ++bins_[static_cast<std::size_t>(bin)].ids;
  }
}

}  // namespace lexikos

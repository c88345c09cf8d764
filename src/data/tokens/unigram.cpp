#include "data/tokens/unigram.hpp"

#include <cmath>
#include <numeric>

#include "utils/error.hpp"

namespace lexikos {

UnigramEntropy unigram_cross_entropy(const std::vector<std::uint64_t>& train_counts,
                                     const std::vector<std::uint64_t>& target_counts) {
  const std::size_t v = target_counts.size();
  if (train_counts.size() > v) {
    fail(Status::file, "there are training counts of " + std::to_string(train_counts.size()) +
                           " ids and the vocabulary has " + std::to_string(v));
  }
  const auto targets =
      std::accumulate(target_counts.begin(), target_counts.end(), std::uint64_t{0});
  if (targets == 0) fail(Status::file, "there is no target to evaluate");
  const auto trained = [&](std::size_t id) {
    return id < train_counts.size() ? train_counts[id] : std::uint64_t{0};
  };

  const auto total = std::accumulate(train_counts.begin(), train_counts.end(), std::uint64_t{0});
  bool unseen = false;
  for (std::size_t id = 0; id < v; ++id) {
    unseen = unseen || (target_counts[id] > 0 && trained(id) == 0);
  }
  const double add = unseen ? 1.0 : 0.0;
  const double mass = static_cast<double>(total) + add * static_cast<double>(v);

  double sum = 0;
  for (std::size_t id = 0; id < v; ++id) {
    if (target_counts[id] == 0) continue;
    sum -= static_cast<double>(target_counts[id]) *
           std::log((static_cast<double>(trained(id)) + add) / mass);
  }
  UnigramEntropy result;
  result.nats = sum / static_cast<double>(targets);
  result.definition = unseen
                          ? "training frequencies with one added to every id's count, because some "
                            "validation ids never occur in training"
                          : "training frequencies as counted";
  return result;
}

}  // namespace lexikos

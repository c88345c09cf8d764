#include "data/unigram.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "utils/error.hpp"

namespace lexikos {

UnigramEntropy unigram_cross_entropy(const std::vector<std::uint64_t>& train_counts,
                                     const TokenSource& validation, Index begin, Index end) {
  const auto v = static_cast<std::size_t>(validation.vocabulary_size());
  if (train_counts.size() != v) {
    fail(Status::file, "there are training counts of " + std::to_string(train_counts.size()) +
                           " ids and '" + validation.name() + "' has a vocabulary of " +
                           std::to_string(v));
  }
  if (end <= begin) {
    fail(Status::file, "no token of '" + validation.name() + "' is left to evaluate");
  }

  std::vector<std::uint64_t> seen(v, 0);
  constexpr Index block = Index{1} << 16;
  std::vector<TokenId> ids(static_cast<std::size_t>(std::min(block, end - begin)));
  for (Index at = begin; at < end; at += block) {
    const Index count = std::min(block, end - at);
    validation.read(at, count, ids.data());
    for (Index i = 0; i < count; ++i) {
      if (ids[i] >= v) fail_token_id(validation, at + i, ids[i]);
      ++seen[ids[i]];
    }
  }

  const auto total = std::accumulate(train_counts.begin(), train_counts.end(), std::uint64_t{0});
  bool unseen = false;
  for (std::size_t id = 0; id < v; ++id) unseen = unseen || (seen[id] > 0 && train_counts[id] == 0);
  const double add = unseen ? 1.0 : 0.0;
  const double mass = static_cast<double>(total) + add * static_cast<double>(v);

  double sum = 0;
  for (std::size_t id = 0; id < v; ++id) {
    if (seen[id] == 0) continue;
    sum -= static_cast<double>(seen[id]) *
           std::log((static_cast<double>(train_counts[id]) + add) / mass);
  }
  UnigramEntropy result;
  result.nats = sum / static_cast<double>(end - begin);
  result.definition = unseen
                          ? "training frequencies with one added to every id's count, because some "
                            "validation ids never occur in training"
                          : "training frequencies as counted";
  return result;
}

}  // namespace lexikos

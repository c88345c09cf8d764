// The yardstick of any language model: what the frequencies of single tokens predict.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lexikos {

struct UnigramEntropy {
  double nats = 0;         ///< cross entropy, nats per token
  std::string definition;  ///< which frequencies were used, in one sentence
};

/// Cross entropy of targets, of which target_counts [V] says how often each id is one, under the
/// relative frequencies of train_counts [V or fewer; what is missing counts as 0]: -(1/n) sum log
/// p(id). p = count / N, where N is the sum of the counts; but if any of the targets never occurs
/// in training, p = (count + 1) / (N + V) for all of them. Errors (Status::file): no targets, more
/// training counts than ids.
UnigramEntropy unigram_cross_entropy(const std::vector<std::uint64_t>& train_counts,
                                     const std::vector<std::uint64_t>& target_counts);

}  // namespace lexikos

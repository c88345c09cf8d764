// The yardstick of any language model: what the frequencies of single tokens alone predict.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/token_source.hpp"

namespace lexikos {

struct UnigramEntropy {
  double nats = 0;         ///< cross entropy, nats per token
  std::string definition;  ///< which frequencies were used, in one sentence
};

/// Cross entropy of the tokens [begin, end) of `validation` under the relative frequencies of
/// train_counts [V]: -(1/n) sum log p(id). p = count / N, where N is the sum of the counts; but if
/// any of these tokens never occurs in training, p = (count + 1) / (N + V) for all of them. Errors
/// (Status::file): an empty range, counts that do not fit the vocabulary, an id out of it.
UnigramEntropy unigram_cross_entropy(const std::vector<std::uint64_t>& train_counts,
                                     const TokenSource& validation, Index begin, Index end);

}  // namespace lexikos

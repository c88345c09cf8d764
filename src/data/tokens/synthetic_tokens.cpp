#include "data/tokens/synthetic_tokens.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/philox.hpp"
#include "utils/error.hpp"

namespace lexikos {

SyntheticTokens::SyntheticTokens(Index vocabulary_size, Index size, std::uint64_t seed, Law law)
    : vocabulary_size_(vocabulary_size), size_(size), seed_(seed), law_(law) {
  if (vocabulary_size < 1 || vocabulary_size > (Index{1} << 31)) {
    fail(Status::deck, "the vocabulary size of synthetic tokens must be from 1 to 2^31; it is " +
                           std::to_string(vocabulary_size));
  }
  if (size < 0) {
    fail(Status::deck,
         "the number of synthetic tokens must not be negative; it is " + std::to_string(size));
  }
}

void SyntheticTokens::read(Index begin, Index count, TokenId* out) const {
  check_token_range(*this, begin, count);
  const std::uint64_t stream = stream_of("synthetic tokens");
  const auto v = static_cast<std::uint64_t>(vocabulary_size_);
  const double log_range = std::log(static_cast<double>(v) + 1.0);
  const auto last = static_cast<TokenId>(v - 1);
  Index i = begin;
  while (i < begin + count) {
    // One call gives four tokens.
    const PhiloxWords words = random_words(seed_, stream, static_cast<std::uint64_t>(i / 4));
    for (Index j = i % 4; j < 4 && i < begin + count; ++j, ++i) {
      const std::uint32_t word = words.word[j];
      if (law_ == Law::uniform) {
        out[i - begin] = static_cast<TokenId>((word * v) >> 32);
      } else {
        // Inverse of the distribution with weight log((r + 2) / (r + 1)) at r.
        const double u = (static_cast<double>(word) + 0.5) * 0x1.0p-32;
        const auto r = static_cast<TokenId>(std::exp(u * log_range) - 1.0);
        out[i - begin] = std::min(r, last);
      }
    }
  }
}

}  // namespace lexikos

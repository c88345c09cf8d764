// Tokens from a formula, for benchmarks and tests that need no file.
#pragma once

#include <cstdint>

#include "data/tokens/token_source.hpp"

namespace lexikos {

/// Independent draws; token i is a pure function of (seed, i).
class SyntheticTokens : public TokenSource {
 public:
  /// zipf: id r about as often as 1 / (r + 1), the way ranked tokens of a text are spread, so that
  /// a step has about as many distinct tokens as one on text. uniform: all ids alike.
  enum class Law { zipf, uniform };

  /// Errors (Status::deck): vocabulary_size < 1 or past 2^31, size < 0.
  SyntheticTokens(Index vocabulary_size, Index size, std::uint64_t seed, Law law = Law::zipf);

  [[nodiscard]] Index size() const override { return size_; }
  [[nodiscard]] Index vocabulary_size() const override { return vocabulary_size_; }
  void read(Index begin, Index count, TokenId* out) const override;
  [[nodiscard]] std::string name() const override { return "synthetic tokens"; }
  [[nodiscard]] std::string format() const override { return "a formula"; }

 private:
  Index vocabulary_size_;
  Index size_;
  std::uint64_t seed_;
  Law law_;
};

}  // namespace lexikos

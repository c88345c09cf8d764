// Where token ids come from: a file, or a formula for benchmarks.
#pragma once

#include <string>

#include "kokkos_types.hpp"

namespace lexikos {

/// A sequence of token ids on the host, read at any place. Reading is not thread-safe.
class TokenSource {
 public:
  virtual ~TokenSource() = default;

  /// Number of tokens.
  [[nodiscard]] virtual Index size() const = 0;
  /// Every id is below it (a damaged file may break this; BatchLoader checks what it reads).
  [[nodiscard]] virtual Index vocabulary_size() const = 0;
  /// Tokens [begin, begin + count) into out[count]; the range must lie inside [0, size()).
  virtual void read(Index begin, Index count, TokenId* out) const = 0;
  /// What an error message calls it: "tokens.h5:/train".
  [[nodiscard]] virtual std::string name() const = 0;
};

/// Training windows of context T: window s has the inputs ids[s T .. s T + T - 1] and as targets
/// the same shifted by one, so T + 1 tokens, of which the last is the first of the next window.
/// (size - 1) / T of them. Errors: T < 1 (Status::deck); not one whole window (Status::file).
Index window_count(const TokenSource& source, Index T);

/// Checks [begin, begin + count) against the size; every implementation of read calls it.
void check_token_range(const TokenSource& source, Index begin, Index count);

/// The error of an id that is not below the vocabulary size: names the source and the offset.
[[noreturn]] void fail_token_id(const TokenSource& source, Index offset, TokenId id);

}  // namespace lexikos

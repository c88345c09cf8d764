#include "data/token_source.hpp"

#include "utils/error.hpp"

namespace lexikos {

Index window_count(const TokenSource& source, Index T) {
  if (T < 1) fail(Status::deck, "the context must be at least 1 token; it is " + std::to_string(T));
  const Index count = (source.size() - 1) / T;
  if (source.size() < 1 || count < 1) {
    fail(Status::file, "'" + source.name() + "' has " + std::to_string(source.size()) +
                           " tokens and one window of context " + std::to_string(T) + " needs " +
                           std::to_string(T + 1) + "; prepare more text or shorten the context");
  }
  return count;
}

void check_token_range(const TokenSource& source, Index begin, Index count) {
  if (begin < 0 || count < 0 || begin > source.size() || count > source.size() - begin) {
    fail(Status::file, "tokens " + std::to_string(begin) + " to " + std::to_string(begin + count) +
                           " are not in '" + source.name() + "', which has " +
                           std::to_string(source.size()));
  }
}

void fail_token_id(const TokenSource& source, Index offset, TokenId id) {
  fail(Status::file, "token id " + std::to_string(id) + " at offset " + std::to_string(offset) +
                         " of '" + source.name() + "' is not below the vocabulary size " +
                         std::to_string(source.vocabulary_size()) + "; prepare the file again");
}

}  // namespace lexikos

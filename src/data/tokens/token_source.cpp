#include "data/tokens/token_source.hpp"

#include <limits>

#include "utils/error.hpp"

namespace lexikos {

std::string TokenSource::place(Index token) const {
  return "offset " + std::to_string(token) + " of '" + name() + "'";
}

void TokenSource::document_starts(Index /*begin*/, Index count, const TokenId* ids,
                                  std::vector<Index>& starts) const {
  starts_after(text_info().end_of_text, ids, count, starts);
}

void starts_after(Index end_of_text, const TokenId* ids, Index count, std::vector<Index>& starts) {
  if (end_of_text < 0) return;
  for (Index t = 1; t < count; ++t) {
    if (static_cast<Index>(ids[t - 1]) == end_of_text) starts.push_back(t);
  }
}

void check_token_range(const TokenSource& source, Index begin, Index count) {
  if (begin < 0 || count < 0 || begin > source.size() || count > source.size() - begin) {
    fail(Status::file, "tokens " + std::to_string(begin) + " to " + std::to_string(begin + count) +
                           " are not in '" + source.name() + "', which has " +
                           std::to_string(source.size()));
  }
}

void fail_token_id(const TokenSource& source, Index offset, TokenId id) {
  // Readers of signed and 64-bit ids give the largest TokenId for what does not fit it.
  const bool outside = id == std::numeric_limits<TokenId>::max();
  fail(Status::file, "token id " + (outside ? "below 0 or past 2^32 - 2" : std::to_string(id)) +
                         " at " + source.place(offset) + " is not below the vocabulary size " +
                         std::to_string(source.vocabulary_size()) +
                         "; prepare the file again, or correct data.vocabulary_size");
}

}  // namespace lexikos

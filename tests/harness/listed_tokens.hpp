// A token source of chosen ids.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "data/tokens/token_source.hpp"

namespace lexikos::test {

/// Tokens given one by one.
class ListedTokens : public TokenSource {
 public:
  ListedTokens(Index vocabulary_size, std::vector<TokenId> ids, Index end_of_text = -1)
      : vocabulary_size_(vocabulary_size), ids_(std::move(ids)) {
    info_.end_of_text = end_of_text;
  }
  [[nodiscard]] Index size() const override { return static_cast<Index>(ids_.size()); }
  [[nodiscard]] Index vocabulary_size() const override { return vocabulary_size_; }
  void read(Index begin, Index count, TokenId* out) const override {
    check_token_range(*this, begin, count);
    std::copy_n(ids_.begin() + begin, count, out);
  }
  [[nodiscard]] std::string name() const override { return "listed tokens"; }
  [[nodiscard]] std::string format() const override { return "a list"; }
  [[nodiscard]] TextInfo text_info() const override { return info_; }

 private:
  Index vocabulary_size_;
  std::vector<TokenId> ids_;
  TextInfo info_;
};

}  // namespace lexikos::test

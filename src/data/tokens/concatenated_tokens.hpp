// Several token files read as one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/tokens/token_source.hpp"

namespace lexikos {

/// Shards end to end, in the given order. Windows cross from one to the next, or begin anew in
/// each.
class ConcatenatedTokens : public TokenSource {
 public:
  /// At least one shard. Errors (Status::file): shards made with different tokenizers.
  ConcatenatedTokens(std::vector<std::unique_ptr<TokenSource>> shards, bool cross_shards);

  [[nodiscard]] Index size() const override { return begins_.back(); }
  /// The largest of the shards'; an id is checked against it, not against its own shard's.
  [[nodiscard]] Index vocabulary_size() const override;
  void read(Index begin, Index count, TokenId* out) const override;
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::string place(Index token) const override;
  [[nodiscard]] std::string format() const override;
  [[nodiscard]] std::vector<std::string> files() const override;
  /// Sums where every shard knows, else unknown.
  [[nodiscard]] TextInfo text_info() const override;
  [[nodiscard]] std::vector<std::uint64_t> stated_counts() const override;
  [[nodiscard]] bool reads_on_any_thread() const override;
  [[nodiscard]] std::vector<Index> segments() const override;
  [[nodiscard]] bool knows_documents() const override;
  /// Each shard's rule; the first token of a shard also begins a document where the token before it
  /// is that shard's end of text.
  void document_starts(Index begin, Index count, const TokenId* ids,
                       std::vector<Index>& starts) const override;

 private:
  template <class Visit>
  void for_parts(Index begin, Index count, const Visit& visit) const;
  [[nodiscard]] std::size_t shard_of(Index token) const;

  std::vector<std::unique_ptr<TokenSource>> shards_;
  std::vector<Index> begins_;  // first token of each shard, and the end
  bool cross_;
};

}  // namespace lexikos

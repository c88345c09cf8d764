#include "data/tokens/concatenated_tokens.hpp"

#include <algorithm>

#include "utils/error.hpp"

namespace lexikos {

namespace {

Index sum_or_unknown(Index sum, Index more) { return sum < 0 || more < 0 ? -1 : sum + more; }

}  // namespace

ConcatenatedTokens::ConcatenatedTokens(std::vector<std::unique_ptr<TokenSource>> shards,
                                       bool cross_shards)
    : shards_(std::move(shards)), begins_{0}, cross_(cross_shards) {
  const TokenSource* named = nullptr;  // the first shard that says which tokenizer made it
  for (const auto& shard : shards_) {
    begins_.push_back(begins_.back() + shard->size());
    const std::string hash = shard->text_info().tokenizer_hash;
    if (hash.empty()) continue;
    if (named == nullptr) named = shard.get();
    if (hash != named->text_info().tokenizer_hash) {
      fail(Status::file, "'" + shard->name() + "' was made with another tokenizer than '" +
                             named->name() + "'; their ids mean different pieces of text");
    }
  }
}

std::size_t ConcatenatedTokens::shard_of(Index token) const {
  const auto after = std::upper_bound(begins_.begin(), begins_.end() - 1, token);
  return static_cast<std::size_t>(after - begins_.begin()) - 1;
}

// Calls visit(shard, its own first token, place among `count`, how many) for each shard touched.
template <class Visit>
void ConcatenatedTokens::for_parts(Index begin, Index count, const Visit& visit) const {
  const Index end = begin + count;
  for (std::size_t s = shard_of(begin); s < shards_.size() && begins_[s] < end; ++s) {
    const Index from = std::max(begin, begins_[s]);
    const Index many = std::min(end, begins_[s + 1]) - from;
    if (many > 0) visit(s, from - begins_[s], from - begin, many);
  }
}

Index ConcatenatedTokens::vocabulary_size() const {
  Index largest = 0;
  for (const auto& shard : shards_) largest = std::max(largest, shard->vocabulary_size());
  return largest;
}

void ConcatenatedTokens::read(Index begin, Index count, TokenId* out) const {
  check_token_range(*this, begin, count);
  for_parts(begin, count, [&](std::size_t s, Index first, Index at, Index many) {
    shards_[s]->read(first, many, out + at);
  });
}

std::string ConcatenatedTokens::name() const {
  const std::size_t more = shards_.size() - 1;
  if (more == 0) return shards_.front()->name();
  return shards_.front()->name() + "' and " + std::to_string(more) + " more, to '" +
         shards_.back()->name();
}

std::string ConcatenatedTokens::place(Index token) const {
  const std::size_t s = shard_of(token);
  return shards_[s]->place(token - begins_[s]);
}

std::string ConcatenatedTokens::format() const {
  for (const auto& shard : shards_) {
    if (shard->format() != shards_.front()->format()) return "several formats";
  }
  return shards_.front()->format();
}

std::vector<std::string> ConcatenatedTokens::files() const {
  std::vector<std::string> all;
  for (const auto& shard : shards_) {
    for (const std::string& path : shard->files()) all.push_back(path);
  }
  return all;
}

TextInfo ConcatenatedTokens::text_info() const {
  TextInfo all = shards_.front()->text_info();
  for (std::size_t s = 1; s < shards_.size(); ++s) {
    const TextInfo info = shards_[s]->text_info();
    all.source_bytes = sum_or_unknown(all.source_bytes, info.source_bytes);
    all.source_words = sum_or_unknown(all.source_words, info.source_words);
    all.documents = sum_or_unknown(all.documents, info.documents);
    if (info.source != all.source) all.source += "; " + info.source;
    if (info.end_of_text != all.end_of_text) all.end_of_text = -1;
  }
  return all;
}

std::vector<std::uint64_t> ConcatenatedTokens::stated_counts() const {
  std::vector<std::uint64_t> sum(static_cast<std::size_t>(vocabulary_size()), 0);
  for (const auto& shard : shards_) {
    const std::vector<std::uint64_t> counts = shard->stated_counts();
    if (counts.empty()) return {};
    for (std::size_t id = 0; id < counts.size(); ++id) sum[id] += counts[id];
  }
  return sum;
}

bool ConcatenatedTokens::reads_on_any_thread() const {
  return std::all_of(shards_.begin(), shards_.end(),
                     [](const auto& shard) { return shard->reads_on_any_thread(); });
}

std::vector<Index> ConcatenatedTokens::segments() const {
  if (cross_) return {0};
  return {begins_.begin(), begins_.end() - 1};
}

bool ConcatenatedTokens::knows_documents() const {
  return std::all_of(shards_.begin(), shards_.end(),
                     [](const auto& shard) { return shard->knows_documents(); });
}

void ConcatenatedTokens::document_starts(Index begin, Index count, const TokenId* ids,
                                         std::vector<Index>& starts) const {
  std::vector<Index> found;
  for_parts(begin, count, [&](std::size_t s, Index first, Index at, Index many) {
    found.clear();
    shards_[s]->document_starts(first, many, ids + at, found);
    const bool known = !found.empty() && found.front() == 0;
    const Index end_of_text = shards_[s]->text_info().end_of_text;
    if (!known && at > 0 && end_of_text >= 0 && static_cast<Index>(ids[at - 1]) == end_of_text) {
      starts.push_back(at);
    }
    for (const Index t : found) starts.push_back(at + t);
  });
}

}  // namespace lexikos

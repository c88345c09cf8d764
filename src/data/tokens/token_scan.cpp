#include "data/tokens/token_scan.hpp"

#include <algorithm>

#include "utils/error.hpp"
#include "utils/share.hpp"

namespace lexikos {

namespace {

constexpr Index scan_block = Index{1} << 16;  // ids read at a time

// Calls visit(begin, count, ids) over [begin, end) in blocks.
template <class Visit>
void for_blocks(const TokenSource& source, Index begin, Index end, const Visit& visit) {
  std::vector<TokenId> ids(
      static_cast<std::size_t>(std::min(scan_block, std::max(end - begin, Index{0}))));
  for (Index at = begin; at < end; at += scan_block) {
    const Index count = std::min(scan_block, end - at);
    source.read(at, count, ids.data());
    visit(at, count, ids.data());
  }
}

void check_block(const TokenSource& source, Index begin, Index count, const TokenId* ids) {
  TokenId largest = 0;
  for (Index i = 0; i < count; ++i) largest = std::max(largest, ids[i]);
  if (static_cast<Index>(largest) < source.vocabulary_size()) return;
  Index i = 0;
  while (static_cast<Index>(ids[i]) < source.vocabulary_size()) ++i;
  fail_token_id(source, begin + i, ids[i]);
}

}  // namespace

void check_ids(const TokenSource& source, Index begin, Index end) {
  if (end < 0) end = source.size();
  for_blocks(source, begin, end, [&](Index at, Index count, const TokenId* ids) {
    check_block(source, at, count, ids);
  });
}

void check_sample(const TokenSource& source) {
  constexpr Index blocks = 64, block = 1024;
  if (source.size() < block) return check_ids(source);
  std::vector<TokenId> ids(static_cast<std::size_t>(block));
  TokenId first = 0;
  bool differ = false;
  for (Index b = 0; b < blocks; ++b) {
    const Index begin = (source.size() - block) / (blocks - 1) * b;
    const Index at = b + 1 == blocks ? source.size() - block : begin;
    source.read(at, block, ids.data());
    check_block(source, at, block, ids.data());
    if (b == 0) first = ids.front();
    differ = differ || std::any_of(ids.begin(), ids.end(), [&](TokenId id) { return id != first; });
  }
  if (differ) return;
  fail(Status::file, "'" + source.name() + "' has the id " + std::to_string(first) +
                         " and, wherever it was looked at, no other: it was laid out and never "
                         "written; prepare it again");
}

std::vector<std::uint64_t> count_tokens(const TokenSource& source) {
  return count_share(source, 0, 0, 1);
}

std::vector<std::uint64_t> count_share(const TokenSource& source, Index most, int rank,
                                       int rank_count) {
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(source.vocabulary_size()), 0);
  const Index all = (source.size() + scan_block - 1) / scan_block;
  const Index chosen = most <= 0 ? all : std::min(all, std::max<Index>(most / scan_block, 1));
  const Share mine = share_of(chosen, rank, rank_count);
  for (Index i = mine.begin; i < mine.end; ++i) {
    const Index begin = i * all / chosen * scan_block;
    const Index end = std::min(begin + scan_block, source.size());
    for_blocks(source, begin, end, [&](Index at, Index count, const TokenId* ids) {
      check_block(source, at, count, ids);
      for (Index k = 0; k < count; ++k) ++counts[ids[k]];
    });
  }
  return counts;
}

}  // namespace lexikos

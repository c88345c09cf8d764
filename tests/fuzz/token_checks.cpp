#include "fuzz/token_checks.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "data/tokens/token_scan.hpp"
#include "fuzz/reader.hpp"

namespace lexikos::fuzz {
namespace {

constexpr Index window = 4096;                  // tokens looked at in each place
constexpr Index whole_source = Index{1} << 18;  // up to this many, all are looked at

void check_starts(const TokenSource& source, Index begin, const std::vector<TokenId>& ids) {
  std::vector<Index> starts;
  const auto count = static_cast<Index>(ids.size());
  if (!accepts(Status::file, [&] { source.document_starts(begin, count, ids.data(), starts); })) {
    return;
  }
  for (std::size_t i = 0; i < starts.size(); ++i) {
    require(starts[i] >= 0 && starts[i] < count, "a document begins inside of what was read");
    require(i == 0 || starts[i] > starts[i - 1], "documents begin in ascending order");
  }
}

void check_window(const TokenSource& source, Index begin) {
  const Index count = std::min(window, source.size() - begin);
  std::vector<TokenId> ids(static_cast<std::size_t>(count));
  if (accepts(Status::file, [&] { source.read(begin, count, ids.data()); })) {
    check_starts(source, begin, ids);
  }
}

void check_outside(const TokenSource& source) {
  TokenId id = 0;
  for (const Index begin : {Index{-1}, source.size()}) {
    require(!accepts(Status::file, [&] { source.read(begin, 1, &id); }),
            "tokens that are not there are refused");
  }
}

void check_counts(const TokenSource& source) {
  std::vector<std::uint64_t> counts;
  if (!accepts(Status::file, [&] { counts = source.stated_counts(); })) return;
  if (counts.empty()) return;
  require(static_cast<Index>(counts.size()) == source.vocabulary_size(),
          "stated counts are of every id");
  require(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) ==
              static_cast<std::uint64_t>(source.size()),
          "stated counts are of every token");
}

}  // namespace

bool read_tokens(const std::string& path, const std::string& split, const TokenRules& rules) {
  std::unique_ptr<TokenSource> source;
  if (!accepts(Status::file, [&] { source = open_tokens(path, split, rules); })) return false;
  const Index size = source->size();
  require(size >= 0, "a source has no negative size");
  require(source->vocabulary_size() >= 1, "a source has a vocabulary");
  require(!source->name().empty() && !source->format().empty() && !source->place(0).empty(),
          "a source has a name");
  for (const Index begin : {Index{0}, size / 2, std::max<Index>(size - window, 0)}) {
    check_window(*source, begin);
  }
  check_outside(*source);
  check_counts(*source);
  if (size <= whole_source) accepts(Status::file, [&] { check_ids(*source); });
  return true;
}

}  // namespace lexikos::fuzz

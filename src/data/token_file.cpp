#include "data/token_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "outputs/hdf5_file.hpp"
#include "utils/error.hpp"

namespace lexikos {

namespace {

constexpr const char* advice =
    "prepare it with inputs/prepare/prepare.py or correct its path in the deck";
constexpr Index scan_block = Index{1} << 16;  // ids read at a time by whole-file passes

/// Where the ids of a split lie.
class IdStore {
 public:
  virtual ~IdStore() = default;
  virtual void read(Index begin, Index count, TokenId* out) const = 0;
  [[nodiscard]] virtual bool mapped() const = 0;
};

/// The file's own bytes, mapped read-only. Word is the type of an id on disk.
template <class Word>
class MappedIds : public IdStore {
 public:
  MappedIds(void* base, std::size_t bytes, const unsigned char* ids)
      : base_(base), bytes_(bytes), ids_(ids) {}
  ~MappedIds() override { munmap(base_, bytes_); }
  MappedIds(const MappedIds&) = delete;
  MappedIds& operator=(const MappedIds&) = delete;

  void read(Index begin, Index count, TokenId* out) const override {
    const unsigned char* from = ids_ + static_cast<std::size_t>(begin) * sizeof(Word);
    for (Index i = 0; i < count; ++i) {
      Word word;  // the dataset may begin at any byte
      std::memcpy(&word, from + static_cast<std::size_t>(i) * sizeof(Word), sizeof(Word));
      out[i] = word;
    }
  }
  [[nodiscard]] bool mapped() const override { return true; }

 private:
  void* base_;
  std::size_t bytes_;
  const unsigned char* ids_;
};

/// Chunked, compressed or byte-swapped ids: HDF5 reads and converts them.
class LibraryIds : public IdStore {
 public:
  LibraryIds(Hdf5Reader file, std::string dataset)
      : file_(std::move(file)), dataset_(std::move(dataset)) {}

  void read(Index begin, Index count, TokenId* out) const override {
    file_.read_rows(dataset_, begin, count, out);
  }
  [[nodiscard]] bool mapped() const override { return false; }

 private:
  Hdf5Reader file_;
  std::string dataset_;
};

// nullptr where the system refuses to map.
std::unique_ptr<IdStore> map_ids(const std::string& path, const DatasetInfo& info) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto offset = static_cast<std::size_t>(info.file_offset);
  const std::size_t lead = offset % page;  // a mapping begins at a page
  const std::size_t bytes = static_cast<std::size_t>(info.size() * info.element_bytes) + lead;
  void* base =
      mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, static_cast<off_t>(offset - lead));
  close(descriptor);
  if (base == MAP_FAILED) return nullptr;
  const unsigned char* ids = static_cast<const unsigned char*>(base) + lead;
  if (info.element_bytes == 2) return std::make_unique<MappedIds<std::uint16_t>>(base, bytes, ids);
  return std::make_unique<MappedIds<std::uint32_t>>(base, bytes, ids);
}

template <class Value>
Value attribute_or(const Hdf5Reader& file, const std::string& object, const std::string& name,
                   Value otherwise) {
  if (!file.has_attribute(object, name)) return otherwise;
  if constexpr (std::is_same_v<Value, std::string>) {
    return file.text(object, name);
  } else {
    return file.integer(object, name);
  }
}

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

struct TokenFile::State {
  std::string path;
  std::string dataset;
  Index size = 0;
  Index vocabulary_size = 0;
  TokenFileInfo info;
  std::unique_ptr<IdStore> ids;
};

TokenFile::TokenFile(const std::string& path, const std::string& split)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.path = path;
  s.dataset = "/" + split;
  Hdf5Reader file(path, advice);
  file.require_format("lexikos-tokens", token_format_version);
  const std::string start = "cannot read '" + path + "': ";

  s.vocabulary_size = file.integer("/", "vocabulary_size");
  if (s.vocabulary_size < 1 || s.vocabulary_size > (Index{1} << 31)) {
    fail(Status::file, start + "its vocabulary_size " + std::to_string(s.vocabulary_size) +
                           " is not from 1 to 2^31; " + advice);
  }
  const DatasetInfo stored = file.info(s.dataset);
  if (stored.shape.size() != 1 || stored.kind != DatasetInfo::Kind::unsigned_integer ||
      (stored.element_bytes != 2 && stored.element_bytes != 4)) {
    fail(Status::file, start + "'" + s.dataset + "' is not a list of uint16 or uint32; " + advice);
  }
  s.size = stored.size();

  s.info.tokenizer = attribute_or(file, "/", "tokenizer", std::string());
  s.info.tokenizer_hash = attribute_or(file, "/", "tokenizer_hash", std::string());
  s.info.source = attribute_or(file, "/", "source", std::string());
  s.info.end_of_text = attribute_or(file, "/", "end_of_text", Index{-1});
  s.info.source_bytes = attribute_or(file, s.dataset, "source_bytes", Index{-1});
  s.info.source_words = attribute_or(file, s.dataset, "source_words", Index{-1});
  s.info.documents = attribute_or(file, s.dataset, "documents", Index{-1});
  s.info.description = attribute_or(file, s.dataset, "description", std::string());

  if (stored.contiguous && stored.file_offset >= 0 && s.size > 0) {
    struct stat status {};
    const Index end = stored.file_offset + s.size * stored.element_bytes;
    if (stat(path.c_str(), &status) == 0 && end > static_cast<Index>(status.st_size)) {
      fail(Status::file, start + "'" + s.dataset + "' ends at byte " + std::to_string(end) +
                             " and the file at byte " + std::to_string(status.st_size) +
                             ": it is truncated; copy or prepare it again");
    }
    if (stored.native_order) s.ids = map_ids(path, stored);
  }
  if (!s.ids) s.ids = std::make_unique<LibraryIds>(std::move(file), s.dataset);
}

TokenFile::~TokenFile() = default;
TokenFile::TokenFile(TokenFile&&) noexcept = default;
TokenFile& TokenFile::operator=(TokenFile&&) noexcept = default;

Index TokenFile::size() const { return state_->size; }
Index TokenFile::vocabulary_size() const { return state_->vocabulary_size; }
std::string TokenFile::name() const { return state_->path + ":" + state_->dataset; }
const TokenFileInfo& TokenFile::info() const { return state_->info; }
bool TokenFile::mapped() const { return state_->ids->mapped(); }

void TokenFile::read(Index begin, Index count, TokenId* out) const {
  check_token_range(*this, begin, count);
  state_->ids->read(begin, count, out);
}

void TokenFile::check_ids(Index begin, Index end) const {
  if (end < 0) end = size();
  for_blocks(*this, begin, end, [&](Index at, Index count, const TokenId* ids) {
    check_block(*this, at, count, ids);
  });
}

std::vector<std::uint64_t> TokenFile::train_counts() const {
  const State& s = *state_;
  const Hdf5Reader file(s.path, advice);
  if (!file.has("/train_counts")) {
    if (s.dataset != "/train") return TokenFile(s.path, "train").train_counts();
    return count_tokens(*this);
  }
  const std::string start = "cannot use /train_counts of '" + s.path + "': ";
  const DatasetInfo stored = file.info("/train_counts");
  if (stored.size() != s.vocabulary_size) {
    fail(Status::file, start + "it has " + std::to_string(stored.size()) +
                           " entries and the vocabulary " + std::to_string(s.vocabulary_size) +
                           "; prepare the file again");
  }
  std::vector<std::uint64_t> counts = file.read<std::uint64_t>("/train_counts");
  const auto sum = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  const Index train_size = file.info("/train").size();
  if (sum != static_cast<std::uint64_t>(train_size)) {
    fail(Status::file, start + "its sum is " + std::to_string(sum) + " and /train has " +
                           std::to_string(train_size) + " tokens; prepare the file again");
  }
  return counts;
}

std::vector<std::uint64_t> count_tokens(const TokenSource& source) {
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(source.vocabulary_size()), 0);
  for_blocks(source, 0, source.size(), [&](Index at, Index count, const TokenId* ids) {
    check_block(source, at, count, ids);
    for (Index i = 0; i < count; ++i) ++counts[ids[i]];
  });
  return counts;
}

}  // namespace lexikos

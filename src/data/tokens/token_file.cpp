#include "data/tokens/token_file.hpp"

#include "data/tokens/mapped_ids.hpp"
#include "data/tokens/token_scan.hpp"
#include "hdf5/file.hpp"
#include "utils/error.hpp"

namespace lexikos {

namespace {

constexpr const char* advice =
    "prepare it with inputs/prepare/prepare.py or correct its path in the deck";

/// Where the ids of a split lie.
class IdStore {
 public:
  virtual ~IdStore() = default;
  virtual void read(Index begin, Index count, TokenId* out) const = 0;
  [[nodiscard]] virtual bool mapped() const = 0;
};

/// The file's own bytes, mapped read-only.
class StoredIds : public IdStore {
 public:
  explicit StoredIds(MappedIds ids) : ids_(std::move(ids)) {}

  void read(Index begin, Index count, TokenId* out) const override { ids_.read(begin, count, out); }
  [[nodiscard]] bool mapped() const override { return true; }

 private:
  MappedIds ids_;
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

// nullptr where the system refuses to map: HDF5 reads the ids then.
std::unique_ptr<IdStore> map_ids(const std::string& path, const DatasetInfo& info) {
  std::shared_ptr<const MappedFile> file;
  try {
    file = std::make_shared<const MappedFile>(path);
  } catch (const Error&) {
    return nullptr;
  }
  const IdType type = info.element_bytes == 2 ? IdType::uint16 : IdType::uint32;
  return std::make_unique<StoredIds>(MappedIds(file, info.mappable_at, type, info.size()));
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

/// Whether the sum is `total`; also right where the counts are so large that a sum would overflow.
bool adds_up(const std::vector<std::uint64_t>& counts, std::uint64_t total) {
  std::uint64_t left = total;
  for (const std::uint64_t count : counts) {
    if (count > left) return false;
    left -= count;
  }
  return left == 0;
}

}  // namespace

struct TokenFile::State {
  std::string path;
  std::string dataset;
  Index size = 0;
  Index vocabulary_size = 0;
  TextInfo info;
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
    fail(Status::file, start + "'" + s.dataset + "' has " + std::to_string(stored.shape.size()) +
                           " dimensions of " + stored.type +
                           ", and is not a list of uint16 or uint32; " + advice);
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

  if (s.info.end_of_text < -1 || s.info.end_of_text >= s.vocabulary_size) {
    fail(Status::file, start + "its end_of_text " + std::to_string(s.info.end_of_text) +
                           " is not below its vocabulary_size " +
                           std::to_string(s.vocabulary_size) + "; " + advice);
  }
  if (stored.mappable_at >= 0) s.ids = map_ids(path, stored);
  if (!s.ids) s.ids = std::make_unique<LibraryIds>(std::move(file), s.dataset);
}

TokenFile::~TokenFile() = default;
TokenFile::TokenFile(TokenFile&&) noexcept = default;
TokenFile& TokenFile::operator=(TokenFile&&) noexcept = default;

Index TokenFile::size() const { return state_->size; }
Index TokenFile::vocabulary_size() const { return state_->vocabulary_size; }
std::string TokenFile::name() const { return state_->path + ":" + state_->dataset; }
std::string TokenFile::format() const {
  return mapped() ? "tokens.h5, mapped" : "tokens.h5, through HDF5";
}
std::vector<std::string> TokenFile::files() const { return {state_->path}; }
TextInfo TokenFile::text_info() const { return state_->info; }
bool TokenFile::mapped() const { return state_->ids->mapped(); }

void TokenFile::read(Index begin, Index count, TokenId* out) const {
  check_token_range(*this, begin, count);
  state_->ids->read(begin, count, out);
}

void TokenFile::set_end_of_text(Index id) {
  if (state_->info.end_of_text < 0) state_->info.end_of_text = id;
}

std::vector<std::uint64_t> TokenFile::train_counts() const {
  const State& s = *state_;
  std::vector<std::uint64_t> counts = counts_of_train();
  if (!counts.empty()) return counts;
  if (s.dataset != "/train") return TokenFile(s.path, "train").train_counts();
  return count_tokens(*this);
}

std::vector<std::uint64_t> TokenFile::stated_counts() const {
  if (state_->dataset != "/train") return {};
  return counts_of_train();
}

std::vector<std::uint64_t> TokenFile::counts_of_train() const {
  const State& s = *state_;
  const Hdf5Reader file(s.path, advice);
  if (!file.has("/train_counts")) return {};
  const std::string start = "cannot use /train_counts of '" + s.path + "': ";
  const DatasetInfo stored = file.info("/train_counts");
  if (stored.shape != std::vector<std::int64_t>{s.vocabulary_size}) {
    fail(Status::file, start + "it has " + std::to_string(stored.size()) +
                           " entries and the vocabulary " + std::to_string(s.vocabulary_size) +
                           "; prepare the file again");
  }
  std::vector<std::uint64_t> counts = file.read_list<std::uint64_t>("/train_counts");
  const Index train_size = file.info("/train").size();
  if (!adds_up(counts, static_cast<std::uint64_t>(train_size))) {
    fail(Status::file, start + "its sum is not the " + std::to_string(train_size) +
                           " tokens of /train; prepare the file again");
  }
  return counts;
}

}  // namespace lexikos

// The .idx of a Megatron .bin: magic, u64 version, u8 type, u64 sequences, u64 entries of the
// document index, then i32 lengths and i64 byte pointers of the sequences, and the i64 document
// index: the first sequence of each document and, usually, the number of sequences at the end.
#include <algorithm>
#include <filesystem>

#include "data/tokens/binary_tokens.hpp"
#include "utils/error.hpp"
#include "utils/file_extent.hpp"

namespace lexikos {

namespace {

constexpr std::string_view magic("MMIDIDX\0\0", 9);
constexpr std::string_view old_magic("TNTIDX\0\0", 8);
constexpr Index header_bytes = 9 + 8 + 1 + 8 + 8;
constexpr Index checked_sequences = Index{1} << 20;

/// Codes of the format. 6 and 7 are real numbers, which are no ids.
std::optional<IdType> type_of(std::uint8_t code) {
  switch (code) {
    case 1:
      return IdType::uint8;
    case 2:
      return IdType::int8;
    case 3:
      return IdType::int16;
    case 4:
      return IdType::int32;
    case 5:
      return IdType::int64;
    case 8:
      return IdType::uint16;
    default:
      return std::nullopt;
  }
}

}  // namespace

bool is_megatron_index(const std::string& path) {
  return MappedFile(path).text(0, magic.size()) == magic;
}

void refuse_index(const MappedFile& file, const std::string& index) {
  std::error_code unknown;
  const bool empty = std::filesystem::file_size(index, unknown) == 0;
  const std::string beside = "the index beside it, '" + index + "', ";
  if (empty || MappedFile(index).text(0, old_magic.size()) != old_magic) {
    file.refuse(beside + (empty ? "is empty" : "is none of Megatron's") +
                ", and an index says how its ids are stored; restore it, or take it away where it "
                "belongs to something else");
  }
  const MappedFile old(index);
  const auto type = old.size() < 24 ? std::nullopt : type_of(old.number<std::uint8_t>(16));
  file.refuse(beside + "is of Megatron's older format (TNTIDX)" +
              (type ? std::string(", with ids of ") + id_type_name(*type) : "") +
              ", which is not read; write the data set again with --dataset-impl mmap");
}

DocumentIndex::DocumentIndex(const std::string& path)
    : file_(std::make_shared<const MappedFile>(path)) {
  read_header();
  check_sequences();
}

void DocumentIndex::read_header() {
  const auto size = static_cast<Index>(file_->size());
  if (file_->text(0, magic.size()) != magic) file_->refuse("it is no index of a Megatron file");
  if (size < header_bytes) {
    file_->refuse("it is truncated at offset " + std::to_string(size) + ", in its header");
  }
  const auto version = file_->number<std::uint64_t>(9);
  if (__builtin_bswap64(version) == 1) {
    file_->refuse("its numbers are big-endian; little-endian ones are read");
  }
  if (version != 1) {
    file_->refuse("it is of version " + std::to_string(version) + " (offset 9); 1 is read");
  }
  const auto code = file_->number<std::uint8_t>(17);
  const auto type = type_of(code);
  if (!type) {
    file_->refuse("its type of ids (offset 17) has the code " + std::to_string(code) +
                  ", which stands for no whole numbers");
  }
  type_ = *type;
  const auto sequences = file_->number<std::uint64_t>(18),
             entries = file_->number<std::uint64_t>(26);
  // Before anything is multiplied: 12 bytes a sequence, 8 an entry.
  const auto most = static_cast<std::uint64_t>(size);
  if (sequences < 1 || sequences > most / 12 || entries < 1 || entries > most / 8) {
    file_->refuse("its header counts " + std::to_string(sequences) + " sequences (offset 18) and " +
                  std::to_string(entries) +
                  " entries for documents (offset 26), and the file has " + std::to_string(size) +
                  " bytes: it is damaged or truncated");
  }
  sequences_ = static_cast<Index>(sequences);
  entries_ = static_cast<Index>(entries);
  lengths_at_ = header_bytes;
  pointers_at_ = lengths_at_ + 4 * sequences_;
  documents_at_ = pointers_at_ + 8 * sequences_;
  const Index end = documents_at_ + 8 * entries_;
  // Some writers add a byte a sequence, its modality; only text is read.
  if (size != end && size != end + sequences_) {
    file_->refuse("its header counts " + std::to_string(sequences_) +
                  " sequences (offset 18) and " + std::to_string(entries_) +
                  " entries for documents (offset 26), which take " + std::to_string(end) +
                  " bytes and the file has " + std::to_string(size));
  }
  const Index last_begin = pointer(sequences_ - 1), last_length = length(sequences_ - 1);
  if (last_begin < 0 || last_length < 0) {
    file_->refuse("its last sequence begins at byte " + std::to_string(last_begin) +
                  " of the ids and has " + std::to_string(last_length) +
                  " tokens: it is damaged; copy or prepare it again");
  }
  tokens_ = FileExtent(file_->path(), file_->size())
                .sum("its tokens", static_cast<std::uint64_t>(last_begin / id_bytes(type_)),
                     static_cast<std::uint64_t>(last_length));
  const auto last = file_->number<std::int64_t>(documents_at_ + 8 * (entries_ - 1));
  documents_ = last == sequences_ ? entries_ - 1 : entries_;
}

Index DocumentIndex::length(Index sequence) const {
  return file_->number<std::int32_t>(static_cast<std::uint64_t>(lengths_at_ + 4 * sequence));
}

Index DocumentIndex::pointer(Index sequence) const {
  return file_->number<std::int64_t>(static_cast<std::uint64_t>(pointers_at_ + 8 * sequence));
}

void DocumentIndex::check_sequences() const {
  const Index looks = std::min(sequences_, checked_sequences);
  for (Index i = 0; i < looks; ++i) {
    const Index s = i * sequences_ / looks;
    // Unsigned, since a damaged pointer may be anything.
    const std::uint64_t expected =
        s == 0 ? 0
               : static_cast<std::uint64_t>(pointer(s - 1)) +
                     static_cast<std::uint64_t>(length(s - 1) * id_bytes(type_));
    if (length(s) < 0 || static_cast<std::uint64_t>(pointer(s)) != expected) {
      file_->refuse("sequence " + std::to_string(s) + " begins at byte " +
                    std::to_string(pointer(s)) + " of the ids (offset " +
                    std::to_string(pointers_at_ + 8 * s) + ") and not at " +
                    std::to_string(expected) + ", where the one before it ends");
    }
  }
  Index before = -1;
  const Index looked = std::min(entries_, checked_sequences);
  for (Index i = 0; i < looked; ++i) {
    const Index at = documents_at_ + 8 * (i * entries_ / looked);
    const auto first = file_->number<std::int64_t>(static_cast<std::uint64_t>(at));
    if (first < std::max<Index>(before, 0) || first > sequences_) {
      file_->refuse("a document begins at sequence " + std::to_string(first) + " (offset " +
                    std::to_string(at) + "), which is out of order or not there");
    }
    before = first;
  }
}

Index DocumentIndex::begin_of(Index document) const {
  const auto sequence =
      file_->number<std::int64_t>(static_cast<std::uint64_t>(documents_at_ + 8 * document));
  // Not every entry of a large index was looked at.
  if (sequence < 0 || sequence > sequences_) {
    file_->refuse("a document begins at sequence " + std::to_string(sequence) + " (offset " +
                  std::to_string(documents_at_ + 8 * document) + "), which is not there");
  }
  if (sequence == sequences_) return tokens_;
  const Index begin = pointer(sequence);
  if (begin < 0 || begin % id_bytes(type_) != 0 || begin / id_bytes(type_) > tokens_) {
    file_->refuse("sequence " + std::to_string(sequence) + " begins at byte " +
                  std::to_string(begin) + " of the ids (offset " +
                  std::to_string(pointers_at_ + 8 * sequence) + "), where no id begins");
  }
  return begin / id_bytes(type_);
}

void DocumentIndex::document_starts(Index begin, Index count, std::vector<Index>& starts) const {
  // The first document that begins at or behind `begin`, by bisection.
  Index low = 0, high = documents_;
  while (low < high) {
    const Index middle = low + (high - low) / 2;
    if (begin_of(middle) < begin) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  Index before = 0;
  for (; low < documents_ && begin_of(low) < begin + count; ++low) {
    const Index t = begin_of(low) - begin;
    if (t < before) {
      file_->refuse("document " + std::to_string(low) +
                    " begins before the one before it (offset " +
                    std::to_string(documents_at_ + 8 * low) + "); copy or prepare it again");
    }
    before = t;
    if (starts.empty() || starts.back() != t) starts.push_back(t);  // a document may be empty
  }
}

}  // namespace lexikos

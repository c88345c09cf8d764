#include "data/tokens/raw_ids.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace lexikos {
namespace {

using namespace std::string_view_literals;

constexpr const char* rewrite =
    "; write the ids as a tokens.h5 (inputs/prepare/README.md) or as plain little-endian uint16";

struct Beginning {
  std::string_view bytes;
  const char* what;
};

constexpr Beginning beginnings[] = {
    {"\x93NUMPY"sv, "an array of numpy (.npy), with a header before the ids"},
    {"PK\x03\x04"sv, "a zip archive (.npz, .pt and others)"},
    {"\x1f\x8b\x08"sv, "compressed (gzip)"},
    {"\x28\xb5\x2f\xfd"sv, "compressed (zstd)"},
    {"\xfd\x37zXZ\0"sv, "compressed (xz)"},
    {"BZh"sv, "compressed (bzip2)"},
    {"PAR1"sv, "a table of Parquet"},
    {"ARROW1"sv, "a table of Arrow"},
    {"GGUF"sv, "weights (GGUF)"},
    {"\x80\x04\x95"sv, "a pickle of Python"},
    {"TNTIDX\0\0"sv, "an index of Megatron's older format, which is not read"},
    {"\x01\x34\xd8\x88"sv, "a llm.c file of a machine with the other byte order"},
    {"\x01\x34\xd9\xa1"sv, "a llm.c file of a machine with the other byte order"},
    {"version https://git-lfs"sv, "a pointer of Git LFS, not the file (git lfs pull fetches it)"},
};

/// Characters of UTF-8 without control characters, as far as `bytes` goes.
bool is_text(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size();) {
    const auto lead = static_cast<unsigned char>(bytes[i]);
    const bool blank = lead == '\n' || lead == '\r' || lead == '\t';
    if ((lead < 0x20 && !blank) || lead == 0x7f || (lead >= 0x80 && lead < 0xc2) || lead > 0xf4) {
      return false;
    }
    const std::size_t more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    for (std::size_t k = 1; k <= more && i + k < bytes.size(); ++k) {
      if ((static_cast<unsigned char>(bytes[i + k]) & 0xc0) != 0x80) return false;
    }
    i += 1 + more;
  }
  return true;
}

constexpr std::uint64_t blocks = 64, block_bytes = 1024;
constexpr std::size_t judged_from = 64;  // words: fewer may be anything

/// uint16 words at places that are multiples of 8 bytes, four behind each other, from all over the
/// file.
std::vector<std::uint16_t> sample(const MappedFile& file) {
  std::vector<std::uint16_t> words;
  const std::uint64_t groups = file.size() / 8, each = block_bytes / 8;
  const auto take = [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t g = begin; g < end; ++g) {
      for (std::uint64_t k = 0; k < 4; ++k) {
        words.push_back(file.number<std::uint16_t>(8 * g + 2 * k));
      }
    }
  };
  if (groups <= blocks * each) {
    take(0, groups);
  } else {
    for (std::uint64_t b = 0; b < blocks; ++b) {
      const std::uint64_t begin = (groups - each) / (blocks - 1) * b;
      take(begin, begin + each);
    }
  }
  return words;
}

/// What the words of a file say of the numbers in it.
class Words {
 public:
  Words(std::vector<std::uint16_t> words, Index vocabulary_size)
      : words_(std::move(words)), size_(vocabulary_size), upper_((vocabulary_size - 1) >> 16) {}

  /// What they are instead of ids below the vocabulary size; nothing where they may be that.
  [[nodiscard]] const char* seen() const {
    if (const char* wider = seen_wider()) return wider;
    if (most(as_stored, 0, 1) < size_) return nullptr;
    if (most(swapped, 0, 1) < size_) return "ids of the other byte order (big-endian)";
    if (most(larger_byte, 0, 1) < size_) return "ids of one byte each";
    return nullptr;
  }

 private:
  /// Of numbers of 32 and 64 bits: of small ones the upper words are empty, and of the others it is
  /// known what they are. Raw ids have no such places.
  [[nodiscard]] const char* seen_wider() const {
    const auto small = [&](auto form, std::size_t a, std::size_t b) {
      return std::max(most(form, a, 4), most(form, b, 4)) <= upper_;
    };
    if (small(as_stored, 1, 3) && !small(as_stored, 0, 2)) {
      const bool wide = most(as_stored, 2, 4) == 0 && most(as_stored, 3, 4) == 0;
      return wide ? "numbers of 64 bits" : "numbers of 32 bits";
    }
    if (small(swapped, 0, 2) && !small(swapped, 1, 3)) {
      const bool wide = most(as_stored, 0, 4) == 0 && most(as_stored, 1, 4) == 0;
      return wide ? "numbers of 64 bits, real or of the other byte order"
                  : "numbers of 32 bits, real or of the other byte order";
    }
    if (most(not_real, 1, 2) == 0 && most(not_real, 0, 2) > 0) return "real numbers";
    return nullptr;
  }

  static Index as_stored(Index word) { return word; }
  static Index swapped(Index word) { return word >> 8 | (word & 0xff) << 8; }
  static Index larger_byte(Index word) { return std::max(word >> 8, word & 0xff); }
  /// 0 for the upper word of a float32 that is 0 or from 1 to below 2^17.
  static Index not_real(Index word) {
    return word == 0 || (word >= 0x3f80 && word < 0x4800) ? 0 : 1;
  }

  /// The largest form(word) of every `stride`-th word from `first` on.
  template <class Form>
  [[nodiscard]] Index most(const Form& form, std::size_t first, std::size_t stride) const {
    Index largest = 0;
    for (std::size_t i = first; i < words_.size(); i += stride) {
      largest = std::max(largest, form(static_cast<Index>(words_[i])));
    }
    return largest;
  }

  std::vector<std::uint16_t> words_;
  Index size_, upper_;  // of ids in more than 16 bits, what the upper half is at most
};

}  // namespace

void refuse_known_format(const MappedFile& file) {
  for (const Beginning& known : beginnings) {
    if (file.text(0, known.bytes.size()) == known.bytes) {
      file.refuse(std::string("it is ") + known.what + rewrite);
    }
  }
  if (file.text(8, 2) == "{\"" && file.number<std::uint64_t>(0) <= file.size() - 8) {
    file.refuse(std::string("it is a file of weights (safetensors)") + rewrite);
  }
  const std::string_view head = file.text(0, 4096);
  if (head.size() >= 16 && is_text(head)) {
    file.refuse("it is text, not ids of tokens; prepare it with inputs/prepare/prepare.py");
  }
}

void require_raw_uint16(const MappedFile& file, Index vocabulary_size) {
  refuse_known_format(file);
  if (file.size() % 2 != 0) {
    file.refuse("its size of " + std::to_string(file.size()) +
                " bytes is no whole number of uint16: it is truncated at offset " +
                std::to_string(file.size()) + ", or its ids have one byte each" + rewrite);
  }
  std::vector<std::uint16_t> words = sample(file);
  if (words.size() < judged_from) return;
  if (const char* seen = Words(std::move(words), vocabulary_size).seen()) {
    file.refuse(std::string("it does not hold uint16 ids below ") +
                std::to_string(vocabulary_size) + " but, as it seems, " + seen + rewrite);
  }
}

}  // namespace lexikos

// Plain binary token files, byte by byte.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace fixtures {

/// Little-endian numbers in a row.
class Bytes {
 public:
  template <class T>
  Bytes& add(std::int64_t value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      text_ += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
    }
    return *this;
  }
  template <class T, class List>
  Bytes& add_all(const List& values) {
    for (const auto value : values) add<T>(static_cast<std::int64_t>(value));
    return *this;
  }
  Bytes& add(const std::string& text) {
    text_ += text;
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  void write(const std::string& path) const { std::ofstream(path, std::ios::binary) << text_; }

 private:
  std::string text_;
};

template <class List>
void write_nanogpt(const std::string& path, const List& ids) {
  Bytes().add_all<std::uint16_t>(ids).write(path);
}

/// A llm.c file; Word is uint16_t or uint32_t. `counted`: the header's count, -1 for the right one.
template <class Word, class List>
void write_llmc(const std::string& path, const List& ids, std::int64_t counted = -1) {
  Bytes bytes;
  const bool wide = sizeof(Word) == 4;
  bytes.add<std::int32_t>(wide ? 20240801 : 20240520).add<std::int32_t>(wide ? 7 : 1);
  bytes.add<std::int32_t>(counted < 0 ? static_cast<std::int64_t>(ids.size()) : counted);
  bytes.add_all<std::int32_t>(std::vector<int>(253, 0));
  bytes.add_all<Word>(ids).write(path);
}

/// The index of a Megatron file whose sequences have these lengths and are documents of their own.
/// `bytes_of_id` and `code` as the format says.
inline Bytes megatron_index(const std::vector<std::int64_t>& lengths, std::int64_t bytes_of_id,
                            int code) {
  Bytes bytes;
  bytes.add(std::string("MMIDIDX\0\0", 9)).add<std::uint64_t>(1).add<std::uint8_t>(code);
  bytes.add<std::uint64_t>(static_cast<std::int64_t>(lengths.size()));
  bytes.add<std::uint64_t>(static_cast<std::int64_t>(lengths.size()) + 1);
  bytes.add_all<std::int32_t>(lengths);
  std::int64_t at = 0;
  for (const std::int64_t length : lengths) {
    bytes.add<std::int64_t>(at);
    at += length * bytes_of_id;
  }
  for (std::size_t d = 0; d <= lengths.size(); ++d) {
    bytes.add<std::int64_t>(static_cast<std::int64_t>(d));
  }
  return bytes;
}

/// path.bin and path.idx; documents of `document` tokens, the last one shorter.
template <class Word, class List>
void write_megatron(const std::string& path, const List& ids, int code, std::int64_t document = 7) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t left = static_cast<std::int64_t>(ids.size()); left > 0; left -= document) {
    lengths.push_back(left < document ? left : document);
  }
  megatron_index(lengths, sizeof(Word), code).write(path + ".idx");
  Bytes().add_all<Word>(ids).write(path + ".bin");
}

}  // namespace fixtures

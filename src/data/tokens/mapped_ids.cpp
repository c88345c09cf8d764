#include "data/tokens/mapped_ids.hpp"

#include <bit>
#include <cstring>
#include <limits>

namespace lexikos {

static_assert(std::endian::native == std::endian::little, "token files are read as they lie");

namespace {

template <class Word>
void copy(const std::byte* from, Index count, TokenId* out) {
  for (Index i = 0; i < count; ++i) {
    Word word;  // the ids may begin at any byte
    std::memcpy(&word, from + static_cast<std::size_t>(i) * sizeof(Word), sizeof(Word));
    if constexpr (std::numeric_limits<Word>::is_signed) {
      const auto wide = static_cast<std::int64_t>(word);
      const bool fits = wide >= 0 && wide < std::int64_t{std::numeric_limits<TokenId>::max()};
      out[i] = fits ? static_cast<TokenId>(wide) : std::numeric_limits<TokenId>::max();
    } else {
      out[i] = word;
    }
  }
}

}  // namespace

Index id_bytes(IdType type) {
  switch (type) {
    case IdType::uint8:
    case IdType::int8:
      return 1;
    case IdType::uint16:
    case IdType::int16:
      return 2;
    case IdType::uint32:
    case IdType::int32:
      return 4;
    case IdType::int64:
      return 8;
  }
  return 0;
}

const char* id_type_name(IdType type) {
  switch (type) {
    case IdType::uint8:
      return "uint8";
    case IdType::int8:
      return "int8";
    case IdType::uint16:
      return "uint16";
    case IdType::int16:
      return "int16";
    case IdType::uint32:
      return "uint32";
    case IdType::int32:
      return "int32";
    case IdType::int64:
      return "int64";
  }
  return "";
}

MappedIds::MappedIds(std::shared_ptr<const MappedFile> file, Index offset, IdType type, Index count)
    : file_(std::move(file)), offset_(offset), type_(type), count_(count) {}

void MappedIds::read(Index begin, Index count, TokenId* out) const {
  const std::byte* from = file_->data() + byte(begin);
  switch (type_) {
    case IdType::uint8:
      return copy<std::uint8_t>(from, count, out);
    case IdType::int8:
      return copy<std::int8_t>(from, count, out);
    case IdType::uint16:
      return copy<std::uint16_t>(from, count, out);
    case IdType::int16:
      return copy<std::int16_t>(from, count, out);
    case IdType::uint32:
      return copy<std::uint32_t>(from, count, out);
    case IdType::int32:
      return copy<std::int32_t>(from, count, out);
    case IdType::int64:
      return copy<std::int64_t>(from, count, out);
  }
}

}  // namespace lexikos

#include "data/tokens/binary_tokens.hpp"

#include <algorithm>

#include "data/tokens/raw_ids.hpp"
#include "utils/error.hpp"
#include "utils/file_extent.hpp"

namespace lexikos {

namespace {

constexpr std::int32_t llmc_magic_uint16 = 20240520, llmc_magic_uint32 = 20240801;
constexpr Index llmc_header_bytes = 1024;

/// The file holds `bytes` and should hold `expected`.
[[noreturn]] void fail_size(const MappedFile& file, Index expected, const std::string& why) {
  const auto size = static_cast<Index>(file.size());
  file.refuse(
      why + " " + std::to_string(expected) + " bytes and the file has " + std::to_string(size) +
      (size < expected ? ": it is truncated at offset " + std::to_string(size)
                       : ": from offset " + std::to_string(expected) + " on it is no part") +
      "; copy or prepare it again");
}

}  // namespace

BinaryTokens::BinaryTokens(MappedIds ids, std::string format, const BinaryContext& context,
                           std::optional<DocumentIndex> documents)
    : ids_(std::move(ids)),
      format_(std::move(format)),
      context_(context),
      documents_(std::move(documents)) {}

void BinaryTokens::read(Index begin, Index count, TokenId* out) const {
  check_token_range(*this, begin, count);
  ids_.read(begin, count, out);
}

std::string BinaryTokens::place(Index token) const {
  return TokenSource::place(token) + " (byte " + std::to_string(ids_.byte(token)) + ")";
}

std::string BinaryTokens::format() const { return format_ + ", " + id_type_name(ids_.type()); }

std::vector<std::string> BinaryTokens::files() const {
  std::vector<std::string> paths = {name()};
  if (documents_) paths.push_back(documents_->path());
  return paths;
}

TextInfo BinaryTokens::text_info() const {
  TextInfo info;
  info.end_of_text = context_.end_of_text;
  if (documents_) info.documents = documents_->documents();
  return info;
}

bool BinaryTokens::knows_documents() const {
  return documents_.has_value() || context_.end_of_text >= 0;
}

void BinaryTokens::document_starts(Index begin, Index count, const TokenId* ids,
                                   std::vector<Index>& starts) const {
  if (!documents_) return TokenSource::document_starts(begin, count, ids, starts);
  const auto first = static_cast<std::ptrdiff_t>(starts.size());
  documents_->document_starts(begin, count, starts);
  starts_after(context_.end_of_text, ids, count, starts);
  std::sort(starts.begin() + first, starts.end());
  starts.erase(std::unique(starts.begin() + first, starts.end()), starts.end());
}

std::unique_ptr<TokenSource> open_nanogpt(std::shared_ptr<const MappedFile> file,
                                          const BinaryContext& context) {
  require_raw_uint16(*file, context.vocabulary_size);
  const auto size = static_cast<Index>(file->size());
  return std::make_unique<BinaryTokens>(MappedIds(file, 0, IdType::uint16, size / 2), "nanoGPT",
                                        context);
}

bool is_llmc(const MappedFile& file) {
  if (file.size() < 4) return false;
  const auto magic = file.number<std::int32_t>(0);
  return magic == llmc_magic_uint16 || magic == llmc_magic_uint32;
}

std::unique_ptr<TokenSource> open_llmc(std::shared_ptr<const MappedFile> file,
                                       const BinaryContext& context) {
  if (static_cast<Index>(file->size()) < llmc_header_bytes) {
    fail_size(*file, llmc_header_bytes, "the header of a llm.c file takes");
  }
  const bool wide = file->number<std::int32_t>(0) == llmc_magic_uint32;
  const auto version = file->number<std::int32_t>(4);
  const auto count = static_cast<Index>(file->number<std::int32_t>(8));
  if (version != (wide ? 7 : 1)) {
    file->refuse("it is a llm.c file of version " + std::to_string(version) + " (offset 4); " +
                 (wide ? "uint32 ids of version 7" : "uint16 ids of version 1") + " are read");
  }
  if (count < 1) {
    file->refuse("its header (offset 8) counts " + std::to_string(count) + " tokens");
  }
  const IdType type = wide ? IdType::uint32 : IdType::uint16;
  const Index expected = llmc_header_bytes + count * id_bytes(type);
  if (static_cast<Index>(file->size()) != expected) {
    fail_size(
        *file, expected,
        "its header (offset 8) counts " + std::to_string(count) + " tokens, which with it take");
  }
  return std::make_unique<BinaryTokens>(MappedIds(file, llmc_header_bytes, type, count), "llm.c",
                                        context);
}

std::unique_ptr<TokenSource> open_megatron(std::shared_ptr<const MappedFile> file,
                                           const std::string& index, const BinaryContext& context) {
  DocumentIndex documents(index);
  const Index expected = FileExtent(index, file->size())
                             .product("its tokens and their bytes",
                                      {static_cast<std::uint64_t>(documents.tokens()),
                                       static_cast<std::uint64_t>(id_bytes(documents.type()))});
  if (static_cast<Index>(file->size()) != expected) {
    fail_size(*file, expected,
              "its index '" + index + "' counts " + std::to_string(documents.tokens()) +
                  " tokens, which take");
  }
  MappedIds ids(file, 0, documents.type(), documents.tokens());
  return std::make_unique<BinaryTokens>(std::move(ids), "Megatron", context, std::move(documents));
}

}  // namespace lexikos

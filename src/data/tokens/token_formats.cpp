#include "data/tokens/token_formats.hpp"

#include <filesystem>

#include "data/tokens/binary_tokens.hpp"
#include "data/tokens/raw_ids.hpp"
#include "data/tokens/token_file.hpp"
#include "hdf5/signature.hpp"
#include "utils/error.hpp"

namespace lexikos {

namespace {

constexpr const char* advice = "correct its path in [data] of the deck";

enum class Format { tokens_h5, llmc, megatron, unknown };

const char* described(Format format) {
  switch (format) {
    case Format::tokens_h5:
      return "a tokens.h5";
    case Format::llmc:
      return "a llm.c file";
    case Format::megatron:
      return "a Megatron file, with its index beside it";
    case Format::unknown:
      return "of no known format";
  }
  return "";
}

std::string with_extension(const std::string& path, const std::string& extension) {
  return std::filesystem::path(path).replace_extension(extension).string();
}

/// Whether a Megatron index lies beside a file. Throws Error(file) where another index does.
bool has_index(const MappedFile& file) {
  const std::string index = with_extension(file.path(), ".idx");
  std::error_code ignored;
  if (index == file.path() || !std::filesystem::is_regular_file(index, ignored)) return false;
  const bool empty = std::filesystem::file_size(index, ignored) == 0;
  if (empty || !is_megatron_index(index)) refuse_index(file, index);
  return true;
}

Format recognise(const MappedFile& file) {
  if (is_hdf5(file)) return Format::tokens_h5;
  if (is_llmc(file)) return Format::llmc;
  if (has_index(file)) return Format::megatron;
  return Format::unknown;
}

std::unique_ptr<TokenSource> open_hdf5(const std::string& path, const std::string& split,
                                       const TokenRules& rules) {
  auto tokens = std::make_unique<TokenFile>(path, split);
  const Index stated = tokens->text_info().end_of_text;
  if (rules.end_of_text >= 0 && stated >= 0 && rules.end_of_text != stated) {
    fail(Status::deck, "data.end_of_text = " + std::to_string(rules.end_of_text) + ", and '" +
                           path + "' says " + std::to_string(stated) + "; leave the key out");
  }
  tokens->set_end_of_text(rules.end_of_text);
  return tokens;
}

BinaryContext context_of(const std::string& path, const TokenRules& rules) {
  if (rules.vocabulary_size == 0) {
    fail(Status::deck,
         "data.vocabulary_size is needed: '" + path + "' does not state how many ids there are");
  }
  if (rules.end_of_text >= rules.vocabulary_size) {
    fail(Status::deck,
         "data.end_of_text = " + std::to_string(rules.end_of_text) +
             " is not below data.vocabulary_size = " + std::to_string(rules.vocabulary_size));
  }
  return {rules.vocabulary_size, rules.end_of_text};
}

}  // namespace

bool has_splits(const std::string& path) { return is_hdf5(MappedFile(path, advice)); }

std::unique_ptr<TokenSource> open_tokens(const std::string& path, const std::string& split,
                                         const TokenRules& rules) {
  auto file = std::make_shared<const MappedFile>(path, advice);
  if (is_megatron_index(path)) {
    file = std::make_shared<const MappedFile>(with_extension(path, ".bin"), advice);
  }
  const Format found = recognise(*file);
  if (rules.format == "nanogpt") {
    if (found != Format::unknown) {
      file->refuse(std::string("it is ") + described(found) +
                   ", and the deck says format = \"nanogpt\"; leave that out");
    }
    return open_nanogpt(file, context_of(path, rules));
  }
  switch (found) {
    case Format::tokens_h5:
      return open_hdf5(path, split, rules);
    case Format::llmc:
      return open_llmc(file, context_of(path, rules));
    case Format::megatron:
      return open_megatron(file, with_extension(file->path(), ".idx"), context_of(path, rules));
    case Format::unknown:
      break;
  }
  refuse_known_format(*file);
  file->refuse(
      "it is no HDF5 file, has no header of llm.c and no Megatron index (.idx) beside it; if it is "
      "raw uint16 as nanoGPT writes it, say format = \"nanogpt\" in the deck (then it is checked "
      "to "
      "be that)");
}

}  // namespace lexikos

// Token files that are plain binary: nanoGPT .bin, llm.c .bin, Megatron .bin with its .idx.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "data/tokens/mapped_ids.hpp"
#include "data/tokens/token_source.hpp"

namespace lexikos {

/// Where the documents of a Megatron .bin begin, read from the mapped .idx as it is needed.
class DocumentIndex {
 public:
  /// Checks magic, version, sizes and (all, or a million of them spread evenly) that the sequences
  /// lie one behind the other. Errors (Status::file) name the index and the byte.
  explicit DocumentIndex(const std::string& path);

  [[nodiscard]] IdType type() const { return type_; }
  /// Tokens of all sequences together.
  [[nodiscard]] Index tokens() const { return tokens_; }
  [[nodiscard]] Index documents() const { return documents_; }
  [[nodiscard]] const std::string& path() const { return file_->path(); }
  /// Adds to `starts` each t in [0, count) at which a document begins, at token begin + t.
  void document_starts(Index begin, Index count, std::vector<Index>& starts) const;

 private:
  [[nodiscard]] Index length(Index sequence) const;
  [[nodiscard]] Index pointer(Index sequence) const;
  [[nodiscard]] Index begin_of(Index document) const;
  void read_header();
  void check_sequences() const;

  std::shared_ptr<const MappedFile> file_;
  IdType type_ = IdType::uint16;
  Index sequences_ = 0, entries_ = 0, documents_ = 0, tokens_ = 0;
  Index lengths_at_ = 0, pointers_at_ = 0, documents_at_ = 0;  // bytes
};

/// What a plain binary file does not say itself.
struct BinaryContext {
  Index vocabulary_size = 0;
  Index end_of_text = -1;  ///< -1: unknown
};

class BinaryTokens : public TokenSource {
 public:
  /// `documents` belongs to a Megatron file. `format` is what the reports call it.
  BinaryTokens(MappedIds ids, std::string format, const BinaryContext& context,
               std::optional<DocumentIndex> documents = std::nullopt);

  [[nodiscard]] Index size() const override { return ids_.count(); }
  [[nodiscard]] Index vocabulary_size() const override { return context_.vocabulary_size; }
  void read(Index begin, Index count, TokenId* out) const override;
  [[nodiscard]] std::string name() const override { return ids_.file().path(); }
  [[nodiscard]] std::string place(Index token) const override;
  [[nodiscard]] std::string format() const override;
  [[nodiscard]] std::vector<std::string> files() const override;
  [[nodiscard]] TextInfo text_info() const override;
  [[nodiscard]] bool knows_documents() const override;
  /// By the index where there is one, and after each end of text where the deck names its id.
  void document_starts(Index begin, Index count, const TokenId* ids,
                       std::vector<Index>& starts) const override;

 private:
  MappedIds ids_;
  std::string format_;
  BinaryContext context_;
  std::optional<DocumentIndex> documents_;
};

/// Raw uint16. Errors (Status::file): bytes that are something else (raw_ids.hpp).
std::unique_ptr<TokenSource> open_nanogpt(std::shared_ptr<const MappedFile> file,
                                          const BinaryContext& context);

bool is_llmc(const MappedFile& file);
/// Errors (Status::file): another version, a count that disagrees with the file's size.
std::unique_ptr<TokenSource> open_llmc(std::shared_ptr<const MappedFile> file,
                                       const BinaryContext& context);

bool is_megatron_index(const std::string& path);
/// Throws Error(file) where `index`, which lies beside `file` and is no index that is read, may say
/// how the ids of `file` are to be read.
[[noreturn]] void refuse_index(const MappedFile& file, const std::string& index);
/// Errors (Status::file): those of the index; a size of `file` other than the index says.
std::unique_ptr<TokenSource> open_megatron(std::shared_ptr<const MappedFile> file,
                                           const std::string& index, const BinaryContext& context);

}  // namespace lexikos

// tokens.h5: one split of a prepared text. README.md has the layout.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/token_source.hpp"

namespace lexikos {

/// Newest format version of tokens.h5 that is read.
inline constexpr std::int64_t token_format_version = 1;

/// What a tokens.h5 says about one split. Absent attributes: "" and -1.
struct TokenFileInfo {
  std::string tokenizer;
  std::string tokenizer_hash;
  Index end_of_text = -1;   ///< id between documents
  Index source_bytes = -1;  ///< of the text that became this split (UTF-8)
  Index source_words = -1;  ///< blank-separated, of the same text
  Index documents = -1;
  std::string source;
  std::string description;
};

/// One split of a tokens.h5. The ids are mapped into memory, so a file of any size costs nothing to
/// open; where they cannot be (chunked, compressed or byte-swapped data, or a file system that
/// refuses) they are read through HDF5 instead.
class TokenFile : public TokenSource {
 public:
  /// Opens split "train" or "validation". Errors (Status::file), each naming the file: missing, not
  /// HDF5, another format, a newer version, no such split, ids that are not 1-D uint16 or uint32,
  /// truncated.
  TokenFile(const std::string& path, const std::string& split);
  ~TokenFile() override;
  TokenFile(TokenFile&&) noexcept;
  TokenFile& operator=(TokenFile&&) noexcept;

  [[nodiscard]] Index size() const override;
  [[nodiscard]] Index vocabulary_size() const override;
  void read(Index begin, Index count, TokenId* out) const override;
  [[nodiscard]] std::string name() const override;

  [[nodiscard]] const TokenFileInfo& info() const;
  /// True where ids come from mapped memory, false where through HDF5.
  [[nodiscard]] bool mapped() const;

  /// Reads the ids [begin, end) once; end < 0 stands for size(). Each rank may check its share.
  /// An id >= vocabulary_size() is an Error(Status::file) with file, dataset and offset.
  void check_ids(Index begin = 0, Index end = -1) const;

  /// How often each id occurs in "train" [V]: /train_counts, or counted where that is absent (for
  /// this the object must be the train split). Errors: counts that do not fit the vocabulary or the
  /// split.
  [[nodiscard]] std::vector<std::uint64_t> train_counts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// How often each id occurs in a source [V].
std::vector<std::uint64_t> count_tokens(const TokenSource& source);

}  // namespace lexikos

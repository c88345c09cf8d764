// tokens.h5: one split of a prepared text. README.md has the layout.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/tokens/token_source.hpp"

namespace lexikos {

/// Newest format version of tokens.h5 that is read.
inline constexpr std::int64_t token_format_version = 1;

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
  [[nodiscard]] std::string format() const override;
  [[nodiscard]] std::vector<std::string> files() const override;
  /// The attributes of the file; those that are absent are unknown.
  [[nodiscard]] TextInfo text_info() const override;
  /// /train_counts where the object is the train split; empty where the file has none. Errors:
  /// counts that do not fit the vocabulary or the split.
  [[nodiscard]] std::vector<std::uint64_t> stated_counts() const override;
  [[nodiscard]] bool reads_on_any_thread() const override { return mapped(); }
  /// True where ids come from mapped memory, false where through HDF5.
  [[nodiscard]] bool mapped() const;
  /// Takes `id` for the end of text where the file does not say.
  void set_end_of_text(Index id);

  /// How often each id occurs in "train" [V]: /train_counts, or counted where that is absent (for
  /// this the object must be the train split). Errors: counts that do not fit the vocabulary or the
  /// split.
  [[nodiscard]] std::vector<std::uint64_t> train_counts() const;

 private:
  struct State;
  [[nodiscard]] std::vector<std::uint64_t> counts_of_train() const;
  std::unique_ptr<State> state_;
};

}  // namespace lexikos

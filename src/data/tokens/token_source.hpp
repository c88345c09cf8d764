// Where token ids come from: a file, several files end to end, or a formula for benchmarks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kokkos_types.hpp"

namespace lexikos {

/// What is known of the text behind some tokens. Unknown: "" and -1.
struct TextInfo {
  std::string tokenizer;
  std::string tokenizer_hash;
  Index end_of_text = -1;   ///< id between documents
  Index source_bytes = -1;  ///< of the text that became these tokens (UTF-8)
  Index source_words = -1;  ///< blank-separated, of the same text
  Index documents = -1;
  std::string source;
  std::string description;
};

/// A sequence of token ids on the host, read at any place.
class TokenSource {
 public:
  virtual ~TokenSource() = default;

  /// Number of tokens.
  [[nodiscard]] virtual Index size() const = 0;
  /// Every id is below it (a damaged file may break this; BatchLoader checks what it reads).
  [[nodiscard]] virtual Index vocabulary_size() const = 0;
  /// Tokens [begin, begin + count) into out[count]; the range must lie inside [0, size()).
  virtual void read(Index begin, Index count, TokenId* out) const = 0;
  /// What an error message calls it: "tokens.h5:/train".
  [[nodiscard]] virtual std::string name() const = 0;

  /// Where one token lies, for messages: "offset 17 of 'train.bin' (byte 1058)".
  [[nodiscard]] virtual std::string place(Index token) const;
  /// What reads it, in a few words: "llm.c, uint16".
  [[nodiscard]] virtual std::string format() const = 0;
  /// The files behind it, in order; none for a formula.
  [[nodiscard]] virtual std::vector<std::string> files() const { return {}; }
  [[nodiscard]] virtual TextInfo text_info() const { return {}; }
  /// How often each id occurs [V] where the file itself says so; else empty.
  [[nodiscard]] virtual std::vector<std::uint64_t> stated_counts() const { return {}; }

  /// True where read() and document_starts() may be called from any thread, also at once. False
  /// where they go through HDF5, whose library bears only one thread.
  [[nodiscard]] virtual bool reads_on_any_thread() const { return true; }

  /// Tokens that a window must not reach across, ascending, the first 0: windows begin anew at
  /// each.
  [[nodiscard]] virtual std::vector<Index> segments() const { return {0}; }

  /// Whether document_starts() knows anything.
  [[nodiscard]] virtual bool knows_documents() const { return text_info().end_of_text >= 0; }
  /// Adds to `starts`, ascending, each t in [0, count) at which a document is known to begin, at
  /// token begin + t; `ids` [count] are the tokens read there. By default after each end of text,
  /// so that t = 0 is not known; the first token of a source is not reported either.
  virtual void document_starts(Index begin, Index count, const TokenId* ids,
                               std::vector<Index>& starts) const;
};

/// Adds each t in [1, count) with ids[t - 1] == end_of_text; nothing where end_of_text < 0.
void starts_after(Index end_of_text, const TokenId* ids, Index count, std::vector<Index>& starts);

/// Checks [begin, begin + count) against the size; every implementation of read calls it.
void check_token_range(const TokenSource& source, Index begin, Index count);

/// The error of an id that is not below the vocabulary size: names the source and the offset.
[[noreturn]] void fail_token_id(const TokenSource& source, Index offset, TokenId id);

}  // namespace lexikos

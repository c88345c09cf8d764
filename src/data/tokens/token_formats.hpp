// Opens a token file of any format, which is recognised by its content.
#pragma once

#include <memory>
#include <string>

#include "data/tokens/token_source.hpp"

namespace lexikos {

/// What the deck says of token files.
struct TokenRules {
  /// "auto": by content. "nanogpt": raw uint16, which has nothing to be recognised by.
  std::string format = "auto";
  Index vocabulary_size = 0;  ///< 0: the file has to state it, which only a tokens.h5 does
  Index end_of_text = -1;     ///< id that ends a document where the file does not say; -1: unknown
};

/// Opens `path`: a tokens.h5 (of which `split` is read), a .bin of llm.c, a .bin of Megatron with
/// its .idx beside it (or that .idx itself), a .bin of nanoGPT. Errors (Status::file), each naming
/// the file: missing; no known format; a format other than the rules say; damaged, with the offset.
/// (Status::deck): no vocabulary size; an end of text that contradicts the file's or is not below
/// the vocabulary size.
std::unique_ptr<TokenSource> open_tokens(const std::string& path, const std::string& split,
                                         const TokenRules& rules);

/// Whether the file holds splits of its own: a tokens.h5. Errors: missing.
bool has_splits(const std::string& path);

}  // namespace lexikos

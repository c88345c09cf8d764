// What every token file that is accepted promises.
#pragma once

#include <string>

#include "data/tokens/token_formats.hpp"

namespace lexikos::fuzz {

/// Opens a split of a file and reads it; true where it was accepted. `open` returns a TokenSource.
bool read_tokens(const std::string& path, const std::string& split, const TokenRules& rules);

}  // namespace lexikos::fuzz

// TOML text to Node. The only way from toml11 into the rest of the code.
#pragma once

#include <string>

#include "deck/node.hpp"

namespace lexikos {

/// The tree of a TOML text. `name` is what messages call the text, usually a file name.
/// Throws Error(deck) with "name:line: reason" on a syntax error, and on numbers outside 64 bits.
Node parse_toml(const std::string& text, const std::string& name);

/// One TOML value, such as `[1, 2]` or `"lev"`. Throws Error(deck) that begins with the place.
Node parse_toml_value(const std::string& text, const Place& place);

/// Reads a value from a command line, where quotes are a nuisance: what is no TOML value and does
/// not begin like a quoted string, array or inline table is taken as a string.
Node parse_loose_value(const std::string& text, const Place& place);

}  // namespace lexikos

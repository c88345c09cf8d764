// Small text files, written at once.
#pragma once

#include <string>

namespace lexikos {

/// Overwrites `path` with `text`, byte for byte. Throws Error(file) where it cannot be written.
void write_text(const std::string& path, const std::string& text);

}  // namespace lexikos

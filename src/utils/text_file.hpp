// Small text files, read and written at once.
#pragma once

#include <cstddef>
#include <string>

namespace lexikos {

/// The whole text of a file, or of a pipe that somebody writes to. Throws Error(file), "'<path>' is
/// a directory": missing, a folder, refused by the system, of more than `most_bytes`, or a pipe or
/// device from which nothing comes for three seconds.
std::string read_text(const std::string& path, std::size_t most_bytes);

/// Overwrites `path` with `text`, byte for byte. Throws Error(file) where it cannot be written.
void write_text(const std::string& path, const std::string& text);

}  // namespace lexikos

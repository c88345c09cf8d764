// Paths as people write them, and questions about what lies there that end in a line, not in an
// exception of std::filesystem.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lexikos {

/// `given` with "~" or "~name" at its start replaced by a home folder, as shells do where they see
/// it first. Throws Error(deck), "'<given>' ...", for what is no path that was meant: a user that
/// is not there, $NAME, which only shells replace, blanks at an end, control characters, names that
/// no file system takes; Error(file) for a pipe, socket or device where a file or folder is due.
std::string usable_path(const std::string& given);

/// The same without a look at what lies there: a pipe may be meant.
std::string usable_name(const std::string& given);

/// Whether there is something. Throws Error(file) where the system will not tell.
bool exists(const std::string& path);

/// Removes a file, if it is there. Throws Error(file).
void remove_file(const std::string& path);

/// What a folder holds, in no order; nothing where there is no such folder. Throws Error(file).
std::vector<std::filesystem::path> entries_of(const std::string& folder);

}  // namespace lexikos

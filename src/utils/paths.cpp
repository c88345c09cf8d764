#include "utils/paths.hpp"

#include <limits.h>
#include <pwd.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>

#include "utils/error.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

namespace fs = std::filesystem;

/// Of a user; "" for this one. "" where it is not known.
std::string home_of(const std::string& user) {
  const char* home = std::getenv("HOME");
  if (user.empty() && home != nullptr && *home != '\0') return home;
  const passwd* entry = user.empty() ? getpwuid(getuid()) : getpwnam(user.c_str());
  return entry != nullptr && entry->pw_dir != nullptr ? entry->pw_dir : "";
}

bool has_variable(const std::string& path) {
  for (std::size_t at = path.find('$'); at != std::string::npos; at = path.find('$', at + 1)) {
    const char next = at + 1 < path.size() ? path[at + 1] : ' ';
    if (std::isalpha(static_cast<unsigned char>(next)) != 0 || next == '_' || next == '{') {
      return true;
    }
  }
  return false;
}

bool too_long(const std::string& path) {
  if (path.size() >= PATH_MAX) return true;
  for (const std::string& name : split(path, '/')) {
    if (name.size() > NAME_MAX) return true;
  }
  return false;
}

/// What is wrong with the text alone; "" where nothing is.
std::string fault_of(const std::string& path) {
  if (trim(path) != path) return "begins or ends with a blank";
  if (single_line(path) != path) return "has a control character in it";
  if (has_variable(path))
    return "has a variable in it, which a shell replaces, but not this file "
           "or these quotes; write the path out";
  if (too_long(path)) return "has a name that is too long for a file";
  return "";
}

[[noreturn]] void refuse(Status status, const std::string& given, const std::string& what) {
  constexpr std::size_t longest = 120;
  const bool fits = given.size() <= longest;
  fail(status, "'" + (fits ? given : given.substr(0, longest) + "...") + "' " + what);
}

}  // namespace

std::string usable_name(const std::string& given) {
  if (const std::string fault = fault_of(given); !fault.empty()) {
    refuse(Status::deck, given, fault);
  }
  if (!given.starts_with('~')) return given;
  const std::size_t end = std::min(given.find('/'), given.size());
  const std::string home = home_of(given.substr(1, end - 1));
  if (home.empty()) {
    refuse(Status::deck, given,
           "begins with the home folder of a user who is not known here; write the path out, or "
           "./~ for a file of that name");
  }
  return home + given.substr(end);
}

std::string usable_path(const std::string& given) {
  const std::string path = usable_name(given);
  std::error_code unknown;  // then whoever opens it says more
  const fs::file_status status = fs::status(path, unknown);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) {
    refuse(Status::file, given, "is a pipe, a socket or a device; a file or folder is expected");
  }
  return path;
}

bool exists(const std::string& path) {
  std::error_code error;
  const bool there = fs::exists(path, error);
  if (error) fail(Status::file, "cannot look at '" + path + "': " + error.message());
  return there;
}

void remove_file(const std::string& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) {
    fail(Status::file, "cannot remove '" + path + "': " + error.message() + "; remove it by hand");
  }
}

std::vector<fs::path> entries_of(const std::string& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    found.push_back(at->path());
  }
  const bool none =
      error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
  if (error && !none) {
    fail(Status::file, "cannot list '" + folder + "': " + error.message());
  }
  return found;
}

}  // namespace lexikos

// Errors: one exception type, one line of text, one exit status.
//
// Everything that can go wrong on the host throws `Error`; main() prints the line on rank 0 and
// ends every rank with the status. Nothing here knows MPI or Kokkos, so any folder may include it.
#pragma once

#include <stdexcept>
#include <string>

namespace lexikos {

/// Exit statuses that a batch system sees (README lists them).
enum class Status : int {
  ok = 0,
  deck = 2,       ///< deck or command line: what the user asked for cannot be run
  file = 3,       ///< a file is missing, unreadable, damaged or of a newer format
  numerical = 4,  ///< NaN, infinity or a failed check on numbers
  resource = 5,   ///< memory, devices or ranks do not suffice
};

/// The message on one line: control characters become blanks, because logs are grepped by line.
inline std::string single_line(const std::string& message) {
  std::string line;
  line.reserve(message.size());
  for (const char c : message) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    if (!control) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

/// One line that says what, where and what to do. Never spans lines.
class Error : public std::runtime_error {
 public:
  Error(Status status, const std::string& message)
      : std::runtime_error(single_line(message)), status_(status) {}

  /// The exit status that this error ends the program with.
  [[nodiscard]] Status status() const noexcept { return status_; }

 private:
  Status status_;
};

/// Throws Error; short for the many places that check one thing and stop.
[[noreturn]] inline void fail(Status status, const std::string& message) {
  throw Error(status, message);
}

}  // namespace lexikos

// Who a process is, so that another one can tell whether it still lives.
#pragma once

#include <optional>
#include <string>

namespace lexikos {

struct ProcessIdentity {
  std::string host;
  std::string process;  ///< its number
  std::string start;    ///< of the process, in ticks since the machine started; "": unknown
  std::string boot;     ///< of the machine, another one after each start; "": unknown
  std::string space;    ///< in which its number counts: a container has its own; "": unknown
  std::string since;    ///< "2026-12-01 04:19:24 UTC", for people
  std::string mark;     ///< random: of this identity and no other

  /// This process, now, with a new mark.
  static ProcessIdentity own();

  /// A line a field, and back; what is missing stays empty.
  [[nodiscard]] std::string text() const;
  static ProcessIdentity from(const std::string& text);

  /// Whether it lives; nothing where that cannot be seen from here: it is of another machine or
  /// container. A number that another process has by now, and a process that has ended but was not
  /// waited for, are dead.
  [[nodiscard]] std::optional<bool> lives() const;
};

}  // namespace lexikos

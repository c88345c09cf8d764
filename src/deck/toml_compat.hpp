// Everything in which toml11 3.x and 4.x differ, for the one source that includes it: parse.cpp.
// Tried with 3.7.1 (Debian 12), 3.8.1, 4.0.3, 4.1.0 and 4.4.0. No other file may include this.
#pragma once

#include <cstddef>
#include <string>

#include <toml.hpp>

#include "deck/toml_text.hpp"

namespace lexikos::toml_compat {

/// What a syntax error says: its line (0 if unknown), the reason, and a remark at the place.
struct Problem {
  int line = 0;
  std::string reason;
  std::string remark;
};

#if TOML11_VERSION_MAJOR >= 4

inline Position position_of(const toml::value& value, const TomlText& text) {
  const auto location = value.location();
  return text.position(static_cast<int>(location.first_line_number()),
                       static_cast<int>(location.first_column_number()));
}

inline Problem problem_of(const toml::syntax_error& error) {
  Problem problem;
  if (error.errors().empty()) return problem;
  const auto& first = error.errors().front();
  problem.reason = first.title();
  if (!first.locations().empty()) {
    problem.line = static_cast<int>(first.locations().front().first.first_line_number());
    problem.remark = first.locations().front().second;
  }
  return problem;
}

#else

/// Its location() counts the lines before a value and copies the value's own, for each value anew.
inline Position position_of(const toml::value& value, const TomlText& text) {
  const auto* region = dynamic_cast<const toml::detail::region*>(toml::detail::get_region(value));
  if (region == nullptr) return {};
  return text.position(static_cast<std::size_t>(region->first() - region->begin()));
}

/// 3.x only has a drawing of several lines: "[error] reason", then the line with "^--- remark".
inline Problem problem_of(const toml::syntax_error& error) {
  Problem problem;
  problem.line = static_cast<int>(error.location().line());
  const std::string drawing = error.what();
  const std::size_t end = drawing.find('\n');
  problem.reason = drawing.substr(0, end);
  const std::string tag = "[error] ";
  if (problem.reason.rfind(tag, 0) == 0) problem.reason.erase(0, tag.size());
  const std::size_t arrow = drawing.rfind("--- ");
  if (end != std::string::npos && arrow != std::string::npos && arrow > end) {
    problem.remark = drawing.substr(arrow + 4, drawing.find('\n', arrow) - arrow - 4);
  }
  return problem;
}

#endif

/// toml11 puts the name of its own function first ("toml::parse_table: "), which helps nobody.
inline std::string without_function(const std::string& reason) {
  if (reason.rfind("toml::", 0) != 0 && reason.rfind("parse_", 0) != 0) return reason;
  const std::size_t end = reason.find_first_of(": ", reason.rfind("toml::", 0) == 0 ? 6 : 0);
  if (end == std::string::npos) return "";
  const std::size_t begin = reason.find_first_not_of(": ", end);
  return begin == std::string::npos ? "" : reason.substr(begin);
}

}  // namespace lexikos::toml_compat

#include "deck/toml_text.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "utils/error.hpp"
#include "utils/text.hpp"

namespace lexikos {

namespace {

/// After so many bytes an array goes on in the next line.
constexpr std::size_t long_line = 1000;

/// Follows the brackets and dots of a TOML text, strings and comments left out.
class Scan {
 public:
  explicit Scan(const std::string& text) : text_(text) {}

  /// Past the byte, comment or string at `at`; the next place.
  std::size_t pass(std::size_t at) {
    const char c = text_[at];
    if (c == '#') return std::min(text_.find('\n', at), text_.size());
    if (c == '"' || c == '\'') return end_of_string(at);
    if (c == '[' || c == '{') open_.push_back(c);
    if ((c == ']' || c == '}') && !open_.empty()) open_.pop_back();
    if (c == '.') ++dots_;
    if (!is_bare_key({&c, 1}) && std::string_view(". \t").find(c) == std::string_view::npos) {
      dots_ = 0;
    }
    return at + 1;
  }

  [[nodiscard]] bool too_deep() const {
    return std::max(static_cast<int>(open_.size()), dots_ + 1) > TomlText::most_deep;
  }
  [[nodiscard]] bool in_array() const { return !open_.empty() && open_.back() == '['; }

 private:
  [[nodiscard]] std::size_t end_of_string(std::size_t at) const {
    const char quote = text_[at];
    const std::string three(3, quote);
    const bool lines = text_.compare(at, 3, three) == 0;
    const std::string end = lines ? three : std::string(1, quote);
    for (std::size_t i = at + end.size(); i < text_.size(); ++i) {
      if (text_[i] == '\\' && quote == '"') {
        ++i;
      } else if (text_.compare(i, end.size(), end) == 0) {
        return i + end.size();
      } else if (text_[i] == '\n' && !lines) {
        return i;  // not closed: the parser will say so
      }
    }
    return text_.size();
  }

  const std::string& text_;
  std::string open_;  // brackets
  int dots_ = 0;      // of the key at hand
};

}  // namespace

TomlText::TomlText(const std::string& text, const Place& start) {
  const auto refuse = [&](int line, const std::string& what) {
    const bool numbered = start.line > 0 && line > 0;
    fail(Status::deck,
         Place{start.file, numbered ? start.line + line - 1 : 0}.text() + ": " + what);
  };
  if (text.size() > most_bytes) refuse(0, "more than " + format_bytes(most_bytes) + " for a deck");
  Scan scan(text);
  Position here{1, 1};
  lines_.push_back({0, here});
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = scan.pass(at);
    if (scan.too_deep()) {
      refuse(here.line, "brackets or a dotted key more than " + std::to_string(most_deep) +
                            " deep; no key of a deck is");
    }
    for (; at < next; ++at) {
      broken_ += text[at];
      ++here.column;
      if (text[at] != '\n') continue;
      here = {here.line + 1, 1};
      lines_.push_back({broken_.size(), here});
    }
    const std::size_t length = broken_.size() - lines_.back().begin;
    if (length > long_line && broken_.back() == ',' && scan.in_array()) {
      broken_ += '\n';
      lines_.push_back({broken_.size(), here});
    } else if (length > most_in_line) {
      refuse(here.line, "a line of more than " + format_bytes(most_in_line));
    }
  }
}

Position TomlText::position(std::size_t offset) const {
  const auto next =
      std::upper_bound(lines_.begin(), lines_.end(), offset,
                       [](std::size_t o, const Line& line) { return o < line.begin; });
  const Line& line = *std::prev(next);
  return {line.first.line, line.first.column + static_cast<int>(offset - line.begin)};
}

Position TomlText::position(int line, int column) const {
  if (line < 1 || static_cast<std::size_t>(line) > lines_.size()) return {line, column};
  const Position first = lines_[static_cast<std::size_t>(line) - 1].first;
  return {first.line, first.column + std::max(column, 1) - 1};
}

}  // namespace lexikos

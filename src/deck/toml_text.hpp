// A TOML text as toml11 can bear it: no deeper than its recursion, no line longer than its
// patience.
#pragma once

#include <string>
#include <vector>

#include "deck/node.hpp"

namespace lexikos {

/// Looks through a text once, before the parser does. toml11 recurses with every bracket and every
/// dot of a key, without a limit, and for each value copies the line that the value stands on.
class TomlText {
 public:
  /// Brackets within one another, and parts of a dotted key, at most.
  static constexpr int most_deep = 32;
  /// Bytes of a text, and of a line where it cannot be broken (an array can, after any comma).
  static constexpr std::size_t most_bytes = std::size_t{1} << 20;
  static constexpr std::size_t most_in_line = std::size_t{1} << 14;

  /// `start`: where the text's first line stands; line 0: nowhere in a file. Throws Error(deck)
  /// that begins with the place past one of these limits.
  TomlText(const std::string& text, const Place& start);

  /// The same values, arrays on more lines.
  [[nodiscard]] const std::string& broken() const { return broken_; }

  /// Where a byte of broken() stands in the text that was given.
  [[nodiscard]] Position position(std::size_t offset) const;
  /// The same for a line and column, from 1, of broken().
  [[nodiscard]] Position position(int line, int column) const;

 private:
  struct Line {
    std::size_t begin;  // in broken()
    Position first;     // of its first byte, in the text that was given
  };

  std::string broken_;
  std::vector<Line> lines_;
};

}  // namespace lexikos

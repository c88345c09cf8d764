// JSON (RFC 8259), read strictly: UTF-8, no duplicate names, nothing after the value. Two things
// that Python writes are read as Python reads them, or nearly: NaN, Infinity and -Infinity as
// numbers; half a surrogate pair, which becomes U+FFFD.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lexikos {

class Json {
 public:
  enum class Kind { null, boolean, number, text, array, object };
  struct Member;

  Kind kind = Kind::null;
  bool boolean = false;
  double number = 0;                   ///< infinite where it is past the range of double
  std::optional<std::uint64_t> whole;  ///< a number without sign, fraction and exponent that fits
  std::string text;
  std::vector<Json> items;      ///< of an array
  std::vector<Member> members;  ///< of an object, in their order

  [[nodiscard]] bool is(Kind asked) const { return kind == asked; }
  /// The member of that name, or nullptr.
  [[nodiscard]] const Json* find(std::string_view name) const;
};

struct Json::Member {
  std::string name;
  Json value;
};

/// Reads one value that fills the whole text; blanks around it are permitted. Throws Error(file):
/// `where` (a file's name), the byte and what is wrong there. Nesting is limited to 64.
Json parse_json(std::string_view text, const std::string& where);

/// Byte at which the text stops being UTF-8 (overlong forms, surrogates and code points past
/// U+10FFFF included), or nothing.
std::optional<std::size_t> first_bad_utf8(std::string_view text);

}  // namespace lexikos

#include "utils/json.hpp"

#include <charconv>
#include <cstdlib>
#include <limits>
#include <set>
#include <utility>

#include "utils/error.hpp"

namespace lexikos {
namespace {

constexpr int deepest = 64;
constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr std::uint32_t replacement = 0xFFFD;  // stands for a character that cannot be

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Json whole() {
    if (const auto bad = first_bad_utf8(text_)) {
      at_ = *bad;
      refuse("this is not UTF-8");
    }
    skip_blanks();
    Json json = value(0);
    skip_blanks();
    if (at_ < text_.size()) refuse("something follows the value");
    return json;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    fail(Status::file, where_ + ": bad JSON at byte " + std::to_string(at_) + ": " + what);
  }

  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r') ++at_;
  }

  void expect(char c) {
    if (at_ >= text_.size()) refuse("the text ends too early");
    if (text_[at_] != c) refuse(std::string("'") + c + "' is expected");
    ++at_;
  }

  Json value(int depth) {
    if (depth > deepest) refuse("nested too deeply");
    switch (peek()) {
      case '{':
        return object(depth);
      case '[':
        return array(depth);
      case '"':
        return text_value();
      case 't':
        return word("true", Json::Kind::boolean, true);
      case 'f':
        return word("false", Json::Kind::boolean, false);
      case 'n':
        return word("null", Json::Kind::null, false);
      case 'N':
        return special("NaN", std::numeric_limits<double>::quiet_NaN());
      case 'I':
        return special("Infinity", infinite);
      default:
        if (text_.substr(at_, 2) == "-I") return special("-Infinity", -infinite);
        return number();
    }
  }

  Json word(std::string_view spelled, Json::Kind kind, bool truth) {
    if (text_.substr(at_, spelled.size()) != spelled) refuse("a value is expected");
    at_ += spelled.size();
    Json json;
    json.kind = kind;
    json.boolean = truth;
    return json;
  }

  /// A number that RFC 8259 has not and Python writes all the same.
  Json special(std::string_view spelled, double value) {
    Json json = word(spelled, Json::Kind::number, false);
    json.number = value;
    return json;
  }

  Json text_value() {
    Json json;
    json.kind = Json::Kind::text;
    json.text = string();
    return json;
  }

  Json object(int depth) {
    Json json;
    json.kind = Json::Kind::object;
    std::set<std::string> seen;
    ++at_;
    skip_blanks();
    for (bool first = true; peek() != '}'; first = false) {
      if (!first) {
        expect(',');
        skip_blanks();
      }
      if (peek() != '"') refuse("a name in quotes is expected");
      std::string name = string();
      if (!seen.insert(name).second) refuse("the name '" + name + "' is there twice");
      skip_blanks();
      expect(':');
      skip_blanks();
      json.members.push_back({std::move(name), value(depth + 1)});
      skip_blanks();
      if (peek() != ',' && peek() != '}') expect('}');
    }
    ++at_;
    return json;
  }

  Json array(int depth) {
    Json json;
    json.kind = Json::Kind::array;
    ++at_;
    skip_blanks();
    for (bool first = true; peek() != ']'; first = false) {
      if (!first) {
        expect(',');
        skip_blanks();
      }
      json.items.push_back(value(depth + 1));
      skip_blanks();
      if (peek() != ',' && peek() != ']') expect(']');
    }
    ++at_;
    return json;
  }

  void digits() {
    if (!is_digit(peek())) refuse(at_ < text_.size() ? "a value is expected" : "it ends too early");
    while (is_digit(peek())) ++at_;
  }

  Json number() {
    const std::size_t begin = at_;
    if (peek() == '-') ++at_;
    const bool zero = peek() == '0';
    const std::size_t first = at_;
    digits();
    if (zero && at_ > first + 1) refuse("a number begins with 0");
    const bool plain = text_[begin] != '-' && peek() != '.' && peek() != 'e' && peek() != 'E';
    if (peek() == '.') {
      ++at_;
      digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      digits();
    }
    const char* const from = text_.data() + begin;
    const char* const to = text_.data() + at_;
    Json json;
    json.kind = Json::Kind::number;
    // Past the range of double: infinite or 0, where from_chars would leave what was there.
    json.number = std::strtod(std::string(from, to).c_str(), nullptr);
    std::uint64_t whole = 0;
    if (plain && std::from_chars(from, to, whole).ec == std::errc()) json.whole = whole;
    return json;
  }

  std::uint32_t four_hex() {
    std::uint32_t code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = peek();
      const int digit = is_digit(c)            ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) refuse("four hexadecimal digits are expected");
      code = code * 16 + static_cast<std::uint32_t>(digit);
    }
    return code;
  }

  void escape(std::string& out) {
    const char c = peek();
    ++at_;
    switch (c) {
      case '"':
      case '\\':
      case '/':
        out += c;
        return;
      case 'b':
        out += '\b';
        return;
      case 'f':
        out += '\f';
        return;
      case 'n':
        out += '\n';
        return;
      case 'r':
        out += '\r';
        return;
      case 't':
        out += '\t';
        return;
      case 'u':
        break;
      default:
        --at_;
        refuse("an unknown escape");
    }
    std::uint32_t code = four_hex();
    if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_, 2) == "\\u") {
      const std::size_t second = at_;
      at_ += 2;
      const std::uint32_t low = four_hex();
      if (low >= 0xDC00 && low <= 0xDFFF) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      } else {
        at_ = second;  // of another character
      }
    }
    const bool half = code >= 0xD800 && code <= 0xDFFF;
    append_utf8(out, half ? replacement : code);
  }

  std::string string() {
    ++at_;
    std::string out;
    while (peek() != '"') {
      if (at_ >= text_.size()) refuse("the text ends inside quotes");
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) refuse("a control character inside quotes");
      ++at_;
      if (c == '\\') {
        escape(out);
      } else {
        out += c;
      }
    }
    ++at_;
    return out;
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
};

}  // namespace

const Json* Json::find(std::string_view name) const {
  for (const auto& [key, value] : members) {
    if (key == name) return &value;
  }
  return nullptr;
}

Json parse_json(std::string_view text, const std::string& where) {
  return Parser(text, where).whole();
}

std::optional<std::size_t> first_bad_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned lead = byte(i);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xC2 ? 0
                               : lead < 0xE0 ? 2
                               : lead < 0xF0 ? 3
                               : lead < 0xF5 ? 4
                                             : 0;
    if (length == 0) return i;
    for (std::size_t k = 1; k < length; ++k) {
      if ((byte(i + k) & 0xC0) != 0x80) return i;
    }
    const unsigned second = byte(i + 1);
    const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
    const bool surrogate = lead == 0xED && second > 0x9F;
    const bool too_large = lead == 0xF4 && second > 0x8F;
    if (overlong || surrogate || too_large) return i;
    i += length;
  }
  return std::nullopt;
}

}  // namespace lexikos

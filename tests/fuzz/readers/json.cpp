// utils/json: what was accepted, written again, is read as the same value.
#include "utils/json.hpp"

#include <cmath>
#include <cstdlib>

#include "fuzz/reader.hpp"
#include "utils/text.hpp"

namespace {

using lexikos::Json;
using lexikos::fuzz::require;

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || code < 0x20) {
      constexpr const char* digits = "0123456789abcdef";
      out += "\\u00";
      out += {digits[code >> 4], digits[code & 15]};
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string number_text(const Json& json) {
  if (json.whole) return std::to_string(*json.whole);
  if (std::isnan(json.number)) return "NaN";
  if (std::isinf(json.number)) return json.number > 0 ? "Infinity" : "-Infinity";
  return lexikos::format_real(json.number);
}

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::string written(const Json& json) {
  std::string text;
  switch (json.kind) {
    case Json::Kind::null:
      return "null";
    case Json::Kind::boolean:
      return json.boolean ? "true" : "false";
    case Json::Kind::number:
      return number_text(json);
    case Json::Kind::text:
      return quoted(json.text);
    case Json::Kind::array:
      for (const Json& item : json.items) text += (text.empty() ? "" : ",") + written(item);
      return "[" + text + "]";
    case Json::Kind::object:
      for (const auto& [name, value] : json.members) {
        text += (text.empty() ? "" : ",") + quoted(name) + ":" + written(value);
      }
      return "{" + text + "}";
  }
  return text;
}

bool same(const Json& a, const Json& b) {
  if (a.kind != b.kind || a.boolean != b.boolean || a.whole != b.whole || a.text != b.text ||
      !same_number(a.number, b.number) || a.items.size() != b.items.size() ||
      a.members.size() != b.members.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!same(a.items[i], b.items[i])) return false;
  }
  for (std::size_t i = 0; i < a.members.size(); ++i) {
    if (a.members[i].name != b.members[i].name || !same(a.members[i].value, b.members[i].value)) {
      return false;
    }
  }
  return true;
}

void check(const Json& json) {
  require(!lexikos::first_bad_utf8(json.text), "every text is UTF-8");
  if (json.whole) {
    require(json.number == static_cast<double>(*json.whole), "both readings of a number agree");
  }
  for (const Json& item : json.items) check(item);
  for (const auto& member : json.members) {
    require(!lexikos::first_bad_utf8(member.name), "every name is UTF-8");
    require(json.find(member.name) == &member.value, "a name is there once");
    check(member.value);
  }
}

/// A number that is the whole text, against the C library's reading.
void check_number(const Json& json, const std::string& text) {
  if (!json.is(Json::Kind::number)) return;
  const double number = std::strtod(text.c_str(), nullptr);
  require(same_number(json.number, number), "a number is what it says: " + text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace fuzz = lexikos::fuzz;
  Json json;
  const auto read = [&](std::string_view text, Json& into) {
    return fuzz::accepts(lexikos::Status::file,
                         [&] { into = lexikos::parse_json(text, "the input"); });
  };
  if (!read(fuzz::text_of(data, size), json)) return 0;
  check(json);
  check_number(json, std::string(fuzz::text_of(data, size)));
  Json again;
  require(read(written(json), again), "what was accepted, written again, is accepted");
  require(same(json, again), "what was accepted, written again, is the same value");
  return 0;
}

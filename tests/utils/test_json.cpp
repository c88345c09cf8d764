// JSON: numbers past any range, what Python writes beside the standard, and what is refused.
#include "utils/json.hpp"

#include <cmath>

#include "harness/catch.hpp"
#include "utils/error.hpp"

using namespace lexikos;

namespace {

Json read(const std::string& text) { return parse_json(text, "a text"); }

std::string refusal(const std::string& text) {
  try {
    (void)read(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("numbers keep their size, however large", "[json]") {
  CHECK(read("1e999").number == HUGE_VAL);
  CHECK(read("-1e999").number == -HUGE_VAL);
  CHECK(read("1e-999").number == 0.0);
  CHECK(read("0.1").number == 0.1);
  CHECK(read("18446744073709551615").whole == 18446744073709551615u);
  CHECK_FALSE(read("18446744073709551616").whole);
  CHECK(read("18446744073709551616").number == 0x1p64);
  CHECK_FALSE(read("-1").whole);
  CHECK_FALSE(read("1.0").whole);
}

TEST_CASE("what Python writes beside the standard", "[json]") {
  CHECK(std::isnan(read("NaN").number));
  CHECK(read("[Infinity]").items[0].number == HUGE_VAL);
  CHECK(read("-Infinity").number == -HUGE_VAL);
  CHECK_FALSE(read("NaN").whole);
  CHECK(read(R"("a\ud800b")").text ==
        "a\xEF\xBF\xBD"
        "b");
  CHECK(read(R"("\ud800\u0041")").text ==
        "\xEF\xBF\xBD"
        "A");
  CHECK(read(R"("\udc00")").text == "\xEF\xBF\xBD");
  CHECK(read(R"("\ud83d\ude00")").text == "\xF0\x9F\x98\x80");
}

TEST_CASE("what is refused, with its byte", "[json]") {
  const auto refused = [](const std::string& text, const std::string& why) {
    INFO(text);
    CHECK_THAT(refusal(text), ContainsSubstring(why));
  };
  refused("Nan", "byte 0");
  refused("-Inf", "byte 0");
  refused("01", "begins with 0");
  refused("1 2", "byte 2");
  refused(R"({"a":1,"a":2})", "'a' is there twice");
  refused("\"\xff\"", "byte 1: this is not UTF-8");
  refused(std::string(1000, '['), "nested too deeply");
  refused("", "byte 0");
  refused("-", "too early");
  refused("\"\\ud83d\\u", "four hexadecimal digits");
}

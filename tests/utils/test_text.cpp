#include <cmath>
#include <cstdlib>
#include <limits>

#include "harness/catch.hpp"
#include "utils/crc64.hpp"
#include "utils/error.hpp"
#include "utils/text.hpp"

using namespace lexikos;

TEST_CASE("an error is one line and carries its exit status", "[error]") {
  const Error error(Status::file, "cannot read\n  'x.h5':\tgone\r\n");
  CHECK(std::string(error.what()) == "cannot read   'x.h5': gone");
  CHECK(static_cast<int>(error.status()) == 3);
  CHECK_THROWS_AS(fail(Status::numerical, "x"), Error);
  // Batch scripts branch on these numbers.
  CHECK(static_cast<int>(Status::deck) == 2);
  CHECK(static_cast<int>(Status::numerical) == 4);
  CHECK(static_cast<int>(Status::resource) == 5);
}

TEST_CASE("lists are joined and split", "[text]") {
  CHECK(join({"a", "b", "c"}, ", ") == "a, b, c");
  CHECK(join({}, ", ").empty());
  CHECK(split("a..b", '.') == std::vector<std::string>{"a", "", "b"});
  CHECK(split("", '.') == std::vector<std::string>{""});
  CHECK(split("a.", '.') == std::vector<std::string>{"a", ""});
  CHECK(trim(" \ta b\r\n") == "a b");
  CHECK(trim("  ").empty());
}

TEST_CASE("the edit distance counts insertions, deletions, substitutions and swaps", "[text]") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("lev", "lev") == 0);
  CHECK(edit_distance("layer", "layers") == 1);
  CHECK(edit_distance("layres", "layers") == 1);  // a swap, two for Levenshtein
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("ca", "abc") == 3);  // optimal string alignment, not 2
}

TEST_CASE("the nearest word is a slip away, or nothing", "[text]") {
  const std::vector<std::string> words = {"tied", "untied", "lev", "warmup_steps", "x"};
  CHECK(nearest("leb", words) == "lev");
  CHECK(nearest("unteid", words) == "untied");
  CHECK(nearest("warmup", words) == "warmup_steps");
  CHECK(nearest("tied", words) == "tied");
  CHECK(nearest("albert", words).empty());
  CHECK(nearest("y", words).empty());
  CHECK(nearest("lev", {}).empty());
}

TEST_CASE("reals are written as short as they can be and read back the same", "[text]") {
  CHECK(format_real(1) == "1.0");
  CHECK(format_real(0.1) == "0.1");
  CHECK(format_real(1e-8) == "1e-08");
  CHECK(format_real(1e300) == "1e+300");
  CHECK(format_real(std::numeric_limits<double>::infinity()) == "inf");
  CHECK(format_real(-std::numeric_limits<double>::infinity()) == "-inf");
  CHECK(format_real(std::nan("")) == "nan");
  for (const double value : {1.0 / 3, 6e-4, 0.1 + 0.2, 5e-324, 1.7976931348623155e308}) {
    CHECK(std::strtod(format_real(value).c_str(), nullptr) == value);
  }
}

TEST_CASE("numbers are written as people read them", "[text]") {
  CHECK(format_count(0) == "0");
  CHECK(format_count(999) == "999");
  CHECK(format_count(1000) == "1,000");
  CHECK(format_count(1711376384) == "1,711,376,384");
  CHECK(format_count(-123456) == "-123,456");
  CHECK(format_count(std::numeric_limits<std::int64_t>::min()) == "-9,223,372,036,854,775,808");

  CHECK(format_si(406.1e6) == "406.1 M");
  CHECK(format_si(12e12) == "12 T");
  CHECK(format_si(950) == "950");
  CHECK(format_si(1.25e9) == "1.25 G");
  CHECK(format_si(999.96e3) == "1 M");
  CHECK(format_si(0) == "0");
  CHECK(format_si(-2500) == "-2.5 k");
  CHECK(format_si(2.3e11, "FLOP/s") == "230 GFLOP/s");
  CHECK(format_si(7, "s") == "7 s");

  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(1023) == "1023 B");
  CHECK(format_bytes(1536) == "1.50 KiB");
  CHECK(format_bytes(1610612736) == "1.50 GiB");
  CHECK(format_bytes((1ull << 30) - 1) == "1.00 GiB");
}

TEST_CASE("durations change their unit without gaps", "[text]") {
  CHECK(format_duration(0) == "0 s");
  CHECK(format_duration(2.5e-5) == "25 us");
  CHECK(format_duration(0.01234) == "12.34 ms");
  CHECK(format_duration(3.724) == "3.72 s");
  CHECK(format_duration(9.996) == "10.0 s");
  CHECK(format_duration(12.34) == "12.3 s");
  CHECK(format_duration(59.94) == "59.9 s");
  CHECK(format_duration(59.97) == "1 min 00 s");
  CHECK(format_duration(245) == "4 min 05 s");
  CHECK(format_duration(3599.7) == "1 h 00 min");
  CHECK(format_duration(3780) == "1 h 03 min");
  CHECK(format_duration(86399) == "1 d 00 h");
  CHECK(format_duration(187200) == "2 d 04 h");
  CHECK(format_duration(-5) == "-5.00 s");
  CHECK(format_duration(std::nan("")) == "unknown");
}

TEST_CASE("crc64 has the published check value, in any number of parts") {
  const std::string digits = "123456789";
  CHECK(crc64(digits.data(), digits.size()) == 0x995DC9BBDF1939FAu);  // of CRC-64/XZ
  CHECK(crc64(nullptr, 0) == 0);
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>(i * 37 % 251);
  const std::uint64_t whole = crc64(text.data(), text.size());
  for (const std::size_t cut : {0, 1, 7, 8, 9, 500, 999, 1000}) {
    const std::uint64_t first = crc64(text.data(), cut);
    CHECK(crc64(text.data() + cut, text.size() - cut, first) == whole);
  }
}

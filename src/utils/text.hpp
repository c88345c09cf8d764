// Small text helpers: lists, edit distance, and numbers as people read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lexikos {

/// "a, b, c" from {"a", "b", "c"} and ", ".
std::string join(const std::vector<std::string>& parts, std::string_view separator);

/// The parts between separators, empty ones included: "a..b" at '.' gives {"a", "", "b"}.
/// An empty text gives one empty part.
std::vector<std::string> split(std::string_view text, char separator);

/// Without blanks, tabs and line ends at both ends.
std::string trim(std::string_view text);

/// The text, or where it is no UTF-8 each of its bytes past ASCII as '?': a name out of a file, for
/// messages.
std::string printable(std::string text);

/// Damerau-Levenshtein distance (optimal string alignment): insertions, deletions, substitutions
/// and swaps of neighbours, each counted as one. Bytes, not code points.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate that a mistyped `word` was probably meant to be, or "" if none is near: at most a
/// third of its letters wrong (at least one is forgiven), or one is the beginning of the other.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// Shortest decimal text that reads back as the same double, always recognisable as a real:
/// 1 -> "1.0", 1e-8 -> "1e-08"; "inf", "-inf", "nan" as TOML writes them.
std::string format_real(double value);

/// With so many digits after the point; "-" for NaN, which stands for a number never measured.
std::string format_fixed(double value, int digits);

/// exp(loss) of a loss in nats, with so many digits after the point: "10^347.44" where no double
/// holds it, "-" for NaN.
std::string perplexity_text(double loss, int digits);

/// 1711376384 -> "1,711,376,384".
std::string format_count(std::int64_t value);

/// Four digits and a decimal prefix: 406.1e6 -> "406.1 M", 1.2e13 -> "12 T", 950 -> "950".
/// The unit, if given, follows the prefix: (2.3e11, "FLOP/s") -> "230 GFLOP/s".
std::string format_si(double value, std::string_view unit = "");

/// Binary prefixes: 1610612736 -> "1.50 GiB", 512 -> "512 B".
std::string format_bytes(std::uint64_t bytes);

/// A duration in seconds: "0.25 ms", "12.3 s", "4 min 05 s", "1 h 03 min", "2 d 04 h".
std::string format_duration(double seconds);

}  // namespace lexikos

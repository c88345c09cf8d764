#include "utils/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "utils/json.hpp"

namespace lexikos {

namespace {

/// snprintf into a string; for the short number formats below.
template <class... Args>
std::string printed(const char* format, Args... args) {
  std::array<char, 96> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, args...);
  return buffer.data();
}

/// "406.1", "12", "0.5": at most `decimals` digits after the point, zeros at the end dropped.
std::string short_decimal(double value, int decimals) {
  std::string text = printed("%.*f", decimals, value);
  if (text.find('.') == std::string::npos) return text;
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

bool begins_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

}  // namespace

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = text.find(separator); end != std::string_view::npos;
       end = text.find(separator, begin)) {
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.emplace_back(text.substr(begin));
  return parts;
}

std::string trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(blanks) - first + 1));
}

std::string printable(std::string text) {
  if (!first_bad_utf8(text)) return text;
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return text;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t columns = b.size() + 1;
  std::vector<std::size_t> before_last(columns);
  std::vector<std::size_t> last(columns);
  std::vector<std::size_t> row(columns);
  for (std::size_t j = 0; j < columns; ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j < columns; ++j) {
      const std::size_t substituted = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substituted});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::size_t forgiven = std::max<std::size_t>(1, word.size() / 3);
  std::size_t best = forgiven + 1;
  std::string found;
  for (const std::string& candidate : candidates) {
    std::size_t distance = edit_distance(word, candidate);
    // One changed letter of one or two is another word, not a slip.
    if (distance > 0 && std::min(word.size(), candidate.size()) < 2) continue;
    const bool is_start = word.size() >= 3 && begins_with(candidate, word);
    const bool has_start = candidate.size() >= 3 && begins_with(word, candidate);
    if (is_start || has_start) distance = std::min(distance, forgiven);
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

std::string format_real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 64> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), result.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string format_fixed(double value, int digits) {
  if (std::isnan(value)) return "-";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return std::abs(value) < 1e15 ? printed("%.*f", digits, value) : printed("%.*e", digits, value);
}

std::string perplexity_text(double loss, int digits) {
  constexpr double most = 700;  // exp of it is 1e304
  if (loss > most && std::isfinite(loss)) return printed("10^%.2f", loss / std::log(10.0));
  return format_fixed(std::exp(loss), digits);
}

std::string format_count(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string format_si(double value, std::string_view unit) {
  constexpr std::array<const char*, 7> prefixes = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t step = 0;
  double scaled = value;
  // 999.95 would print as 1000.0, so it already belongs to the next prefix.
  while (std::isfinite(scaled) && std::abs(scaled) >= 999.95 && step + 1 < prefixes.size()) {
    scaled /= 1000;
    ++step;
  }
  const std::string tail = std::string(prefixes[step]) + std::string(unit);
  // Below 10 two digits follow the point, so that 1.25 G keeps what the reader needs.
  const std::string number = short_decimal(scaled, std::abs(scaled) < 9.995 ? 2 : 1);
  return tail.empty() ? number : number + " " + tail;
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 7> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return printed("%d B", static_cast<int>(bytes));
  std::size_t step = 0;
  double scaled = static_cast<double>(bytes);
  while (scaled >= 1023.995 && step + 1 < units.size()) {
    scaled /= 1024;
    ++step;
  }
  return printed("%.2f %s", scaled, units[step]);
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds)) return "unknown";
  if (seconds < 0) return "-" + format_duration(-seconds);
  if (seconds == 0) return "0 s";
  if (seconds < 1e-3) return short_decimal(seconds * 1e6, 2) + " us";
  if (seconds < 0.9995) return short_decimal(seconds * 1e3, 2) + " ms";
  if (seconds < 9.995) return printed("%.2f s", seconds);
  if (seconds < 59.95) return printed("%.1f s", seconds);
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) return printed("%lld min %02lld s", whole / 60, whole % 60);
  const long long minutes = (whole + 30) / 60;
  if (minutes < 24 * 60) return printed("%lld h %02lld min", minutes / 60, minutes % 60);
  const long long hours = (whole + 1800) / 3600;
  return printed("%lld d %02lld h", hours / 24, hours % 24);
}

}  // namespace lexikos

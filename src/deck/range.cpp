#include "deck/range.hpp"

#include <cmath>

#include "utils/text.hpp"

namespace lexikos {

namespace {

/// "1" rather than "1.0": the end of a range may belong to an integer. "2^31", "10^12".
std::string end_text(double end) {
  int exponent = 0;
  if (end >= 0x1p20 && std::frexp(end, &exponent) == 0.5) {
    return "2^" + std::to_string(exponent - 1);
  }
  const std::string real = format_real(end);
  if (real.starts_with("1e+")) return "10^" + std::to_string(std::stoi(real.substr(3)));
  const bool whole = std::abs(end) < 1e15 && end == std::floor(end);
  return whole ? std::to_string(static_cast<std::int64_t>(end)) : real;
}

/// False for NaN, with which every comparison is false.
template <class T>
bool lies_in(const Range& range, T value) {
  const bool above = range.low_open ? value > range.low : value >= range.low;
  const bool below = range.high_open ? value < range.high : value <= range.high;
  return above && below;
}

}  // namespace

bool Range::contains(double value) const { return lies_in(*this, value); }

bool Range::contains(std::int64_t value) const {
  return lies_in(*this, static_cast<long double>(value));
}

std::string Range::text() const {
  const bool has_low = std::isfinite(low);
  const bool has_high = std::isfinite(high);
  const std::string lower = (low_open ? "above " : "at least ") + end_text(low);
  const std::string upper = (high_open ? "below " : "at most ") + end_text(high);
  if (has_low && has_high && !low_open && !high_open) {
    return "between " + end_text(low) + " and " + end_text(high);
  }
  if (has_low && has_high) return lower + " and " + upper;
  if (has_low) return lower;
  return has_high ? upper : "";
}

double Range::any_real() const {
  if (contains(1.0)) return 1.0;
  if (std::isfinite(low) && std::isfinite(high)) return low + (high - low) / 2;
  return std::isfinite(low) ? low + 1 : high - 1;
}

std::int64_t Range::any_integer() const {
  if (contains(std::int64_t{1})) return 1;
  if (!std::isfinite(low)) return static_cast<std::int64_t>(std::floor(high)) - (high_open ? 1 : 0);
  const double first = std::ceil(low);
  return static_cast<std::int64_t>(low_open && first == low ? first + 1 : first);
}

Range operator&&(const Range& a, const Range& b) {
  Range both = a;
  if (b.low > a.low || (b.low == a.low && b.low_open)) {
    both.low = b.low;
    both.low_open = b.low_open;
  }
  if (b.high < a.high || (b.high == a.high && b.high_open)) {
    both.high = b.high;
    both.high_open = b.high_open;
  }
  return both;
}

}  // namespace lexikos

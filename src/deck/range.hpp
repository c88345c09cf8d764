// Permitted ranges of numbers. Open and closed ends are put together with &&:
//   Between(0, 1)   Above(0) && AtMost(1)   AtLeast(0) && Below(1)
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace lexikos {

/// An interval of numbers; the default has no ends. NaN lies in no range. The range of a key has
/// both ends (a test of `lexikos -k` sees to it), so that nothing made of its value overflows.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;   ///< true: `low` itself is not permitted
  bool high_open = false;  ///< true: `high` itself is not permitted

  [[nodiscard]] bool contains(double value) const;
  [[nodiscard]] bool contains(std::int64_t value) const;

  /// "above 0 and at most 1", "between 0 and 2^31"; "" where there are no ends.
  [[nodiscard]] std::string text() const;

  /// Some permitted value, for a deck that gives none (see Deck::blank).
  [[nodiscard]] double any_real() const;
  [[nodiscard]] std::int64_t any_integer() const;
};

/// Both ranges at once.
Range operator&&(const Range& a, const Range& b);

struct AtLeast : Range {
  explicit AtLeast(double bound) { low = bound; }
};

struct Above : Range {
  explicit Above(double bound) {
    low = bound;
    low_open = true;
  }
};

struct AtMost : Range {
  explicit AtMost(double bound) { high = bound; }
};

struct Below : Range {
  explicit Below(double bound) {
    high = bound;
    high_open = true;
  }
};

/// Both ends included.
struct Between : Range {
  Between(double first, double last) {
    low = first;
    high = last;
  }
};

}  // namespace lexikos

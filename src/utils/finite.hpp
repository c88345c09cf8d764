// Numbers that no computation can use: where the first one stands, as messages say it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace lexikos {

/// The first of `count` values that is NaN or infinite; -1 where all are finite.
template <class T>
std::int64_t first_not_finite(const T* values, std::int64_t count) {
  constexpr std::int64_t together = 1024;
  for (std::int64_t begin = 0; begin < count; begin += together) {
    const std::int64_t end = std::min(count, begin + together);
    int bad = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      bad |= std::abs(values[i]) <= std::numeric_limits<T>::max() ? 0 : 1;
    }
    if (bad == 0) continue;
    for (std::int64_t i = begin; i < end; ++i) {
      if (!std::isfinite(values[i])) return i;
    }
  }
  return -1;
}

/// Of element `index` of a row-major array: "element 7" of a list, else "row 3, column 5" with the
/// dimensions behind the first taken together.
inline std::string place_in(std::int64_t index, const std::vector<std::int64_t>& shape) {
  if (shape.size() < 2) return "element " + std::to_string(index);
  std::int64_t row = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) row *= shape[i];
  return "row " + std::to_string(index / row) + ", column " + std::to_string(index % row);
}

}  // namespace lexikos

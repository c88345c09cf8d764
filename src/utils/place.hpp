// Where a value stands in an array, as messages say it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lexikos {

/// Of element `index` of a row-major array: "element 7" of a list, else "row 3, column 5" with the
/// dimensions behind the first taken together.
inline std::string place_in(std::int64_t index, const std::vector<std::int64_t>& shape) {
  if (shape.size() < 2) return "element " + std::to_string(index);
  std::int64_t row = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) row *= shape[i];
  return "row " + std::to_string(index / row) + ", column " + std::to_string(index % row);
}

}  // namespace lexikos

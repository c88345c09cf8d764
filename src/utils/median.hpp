// The median of a list.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lexikos {

/// The value in the middle of `values`, or the mean of the two there; `values` must not be empty.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

}  // namespace lexikos

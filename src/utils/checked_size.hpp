// Sizes and counts that never overflow without a word.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "utils/error.hpp"

namespace lexikos {

[[noreturn]] inline void fail_too_large(std::string_view what) {
  fail(Status::resource, std::string(what) + " would be 2^63 or more; make model or batch smaller");
}

/// The product of numbers that are not negative. Throws Error(resource), "<what> would be 2^63 or
/// more", where it is.
inline std::int64_t checked_product(std::initializer_list<std::int64_t> factors,
                                    std::string_view what) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (factor < 0 || __builtin_mul_overflow(product, factor, &product)) fail_too_large(what);
  }
  return product;
}

/// The sum of numbers that are not negative. Throws as checked_product.
inline std::int64_t checked_sum(std::initializer_list<std::int64_t> terms, std::string_view what) {
  std::int64_t sum = 0;
  for (const std::int64_t term : terms) {
    if (term < 0 || __builtin_add_overflow(sum, term, &sum)) fail_too_large(what);
  }
  return sum;
}

}  // namespace lexikos

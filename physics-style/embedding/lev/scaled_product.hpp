// Products of many factors that leave no number's range on the way: a mantissa in double and a
// power of two beside it. Plain bit operations, so that loops over many products vectorise.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kokkos_types.hpp"

namespace lexikos::lev {

/// Factors of type S that a normalised mantissa can take up before it must be normalised again, so
/// that the product is still a double: floats lie within 1e-45 .. 1e39, doubles are all there is.
template <class S>
inline constexpr Index factors_between = sizeof(S) == 4 ? 4 : 1;

/// Brings `mantissa` into [1, 2) and returns the power of two that was taken out. Zero, subnormal
/// and infinite numbers and NaN stay as they are.
KOKKOS_FORCEINLINE_FUNCTION double normalise(double& mantissa) {
  constexpr std::uint64_t field = std::uint64_t{0x7ff} << 52;
  const auto bits = std::bit_cast<std::uint64_t>(mantissa);
  const std::uint64_t exponent = (bits & field) >> 52;
  const bool keep = exponent == 0 || exponent == 0x7ff;
  const double scaled = std::bit_cast<double>((bits & ~field) | (std::uint64_t{1023} << 52));
  mantissa = keep ? mantissa : scaled;
  return keep ? 0.0 : static_cast<double>(static_cast<std::int64_t>(exponent) - 1023);
}

/// 2^exponent for a whole exponent in [-1022, 1023].
KOKKOS_FORCEINLINE_FUNCTION double power_of_two(double exponent) {
  // 1.5 * 2^52 + n holds n in its low bits: a conversion without one.
  const auto bits = std::bit_cast<std::uint64_t>(exponent + (6755399441055744.0 + 1023.0));
  return std::bit_cast<double>(bits << 52);
}

/// mantissa * 2^exponent for a whole exponent, as a double that a few more factors of type S may
/// multiply: where 2^exponent is past what S and those factors can bring back, the nearest power of
/// two that is past it too, so that the sign stays and a zero factor still makes zero.
template <class S>
KOKKOS_FORCEINLINE_FUNCTION double scale(double mantissa, double exponent) {
  // Two powers of two, each of which is a normal number; float needs but one.
  constexpr double limit = sizeof(S) == 4 ? 900.0 : 2000.0;
  const double bounded = exponent < -limit ? -limit : (exponent > limit ? limit : exponent);
  const double first = sizeof(S) == 4 ? bounded : ::floor(0.5 * bounded);
  const double second = bounded - first;
  return sizeof(S) == 4 ? mantissa * power_of_two(first)
                        : mantissa * power_of_two(first) * power_of_two(second);
}

}  // namespace lexikos::lev

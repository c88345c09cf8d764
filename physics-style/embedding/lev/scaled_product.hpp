// Products of many factors that leave no number's range on the way: a mantissa in double and a
// power of two beside it. Plain bit operations, so that loops over many products vectorise.
#pragma once

#include <bit>
#include <cstdint>

#include "kokkos_types.hpp"

namespace lexikos::lev {

/// Factors of type S that a normalised mantissa can take up before it must be normalised again, so
/// that the product of two such mantissas is still a double: floats lie within 1e-45 .. 1e39.
template <class S>
inline constexpr Index factors_between = sizeof(S) == 4 ? 3 : 1;

/// Brings `mantissa` into [1, 2) and returns the power of two that was taken out. Zero, subnormal
/// and infinite numbers and NaN stay as they are.
KOKKOS_FORCEINLINE_FUNCTION double normalise(double& mantissa) {
  constexpr std::uint64_t field = std::uint64_t{0x7ff} << 52;
  const auto bits = std::bit_cast<std::uint64_t>(mantissa);
  const std::uint64_t exponent = (bits & field) >> 52;
  const bool keep = exponent == 0 || exponent == 0x7ff;
  const double scaled =
      std::bit_cast<double>((bits & ~field) | (std::uint64_t{1023} << 52));
  mantissa = keep ? mantissa : scaled;
  return keep ? 0.0 : static_cast<double>(static_cast<std::int64_t>(exponent) - 1023);
}

/// mantissa * 2^exponent for a whole exponent; 0 or infinite where a double has no such number.
KOKKOS_FORCEINLINE_FUNCTION double scale(double mantissa, double exponent) {
  // In three factors, each of which is a normal number: mantissa * 2^e with |e| up to 3,000 passes
  // over from the largest to the smallest double.
  const double bounded = exponent < -3000.0 ? -3000.0 : (exponent > 3000.0 ? 3000.0 : exponent);
  const auto whole = static_cast<std::int64_t>(bounded);
  const std::int64_t third = whole / 3, rest = whole - 2 * third;
  const double a = std::bit_cast<double>(static_cast<std::uint64_t>(third + 1023) << 52);
  const double b = std::bit_cast<double>(static_cast<std::uint64_t>(rest + 1023) << 52);
  return mantissa * a * a * b;
}

}  // namespace lexikos::lev

// How numbers are stored in weight files, and their widening to double.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "kokkos_types.hpp"

namespace lexikos {

/// Types that a matrix may have. q8_0 is GGUF's: blocks of 32 values, fp16 scale before int8.
enum class Element { f64, f32, f16, bf16, f8_e4m3, f8_e5m2, q8_0 };

inline const char* element_name(Element e) {
  constexpr const char* names[] = {"F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2", "Q8_0"};
  return names[static_cast<int>(e)];
}

inline constexpr Index q8_block = 32;

/// Bytes of a row of `width` values; q8_0 wants a multiple of 32.
inline Index row_bytes(Element e, Index width) {
  switch (e) {
    case Element::f64:
      return 8 * width;
    case Element::f32:
      return 4 * width;
    case Element::f16:
    case Element::bf16:
      return 2 * width;
    case Element::q8_0:
      return width / q8_block * (2 + q8_block);  // less than 2 width
    default:
      return width;
  }
}

/// Bytes of `rows` rows of `width` values (neither below 0); nothing where no file has so many.
inline std::optional<std::uint64_t> checked_bytes(Element e, Index rows, Index width) {
  constexpr Index most = std::numeric_limits<Index>::max();
  if (width > most / 8) return std::nullopt;
  const Index row = row_bytes(e, width);
  if (row > 0 && rows > most / row) return std::nullopt;
  return static_cast<std::uint64_t>(rows * row);
}

/// The value of an IEEE half: shifted into place and scaled by 2^112, which is exact and does
/// subnormal numbers too; infinity and NaN have their exponent filled up.
inline float widen_f16(std::uint16_t half) {
  const std::uint32_t magnitude = (half & 0x7FFFu) << 13;
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  const std::uint32_t special = magnitude | 0x7F800000u;
  const std::uint32_t bits =
      (half & 0x7C00u) == 0x7C00u ? special : std::bit_cast<std::uint32_t>(scaled);
  return std::bit_cast<float>(bits | (half & 0x8000u) << 16);
}

inline float widen_bf16(std::uint16_t bits) {
  Bf16 value;
  value.bits = bits;
  return value;
}

inline std::uint16_t narrow_bf16(float value) { return Bf16(value).bits; }

/// 1 sign, 4 exponent (bias 7), 3 mantissa bits; no infinity, NaN where all of them are set (the
/// "fn" variety of machine-learning formats).
inline float widen_f8_e4m3(std::uint8_t bits) {
  const int exponent = bits >> 3 & 15, mantissa = bits & 7;
  if (exponent == 15 && mantissa == 7) return std::numeric_limits<float>::quiet_NaN();
  const float fraction = static_cast<float>(exponent > 0 ? 8 + mantissa : mantissa);
  const float power =
      std::bit_cast<float>(static_cast<std::uint32_t>((exponent > 0 ? exponent : 1) + 117) << 23);
  return ((bits & 0x80) != 0 ? -fraction : fraction) * power;
}

namespace detail {

template <class Stored, class Widen>
void widen_row(const std::byte* from, Index width, double* out, const Widen& widen) {
  LEXIKOS_SIMD
  for (Index i = 0; i < width; ++i) {
    Stored stored;  // files may place it at any byte
    std::memcpy(&stored, from + i * static_cast<Index>(sizeof stored), sizeof stored);
    out[i] = static_cast<double>(widen(stored));
  }
}

inline void widen_q8_0(const std::byte* from, Index width, double* out) {
  for (Index block = 0; block < width / q8_block; ++block) {
    std::uint16_t scale;
    std::memcpy(&scale, from, sizeof scale);
    const double factor = widen_f16(scale);
    from += sizeof scale;
    for (Index i = 0; i < q8_block; ++i) {
      *out++ = factor * static_cast<std::int8_t>(from[i]);
    }
    from += q8_block;
  }
}

}  // namespace detail

/// Overwrites out[width] with a stored row. Every type but f64 is exact in fp32 too, q8_0 aside.
inline void widen(Element e, const std::byte* row, Index width, double* out) {
  using detail::widen_row;
  switch (e) {
    case Element::f64:
      return widen_row<double>(row, width, out, [](double x) { return x; });
    case Element::f32:
      return widen_row<float>(row, width, out, [](float x) { return x; });
    case Element::f16:
      return widen_row<std::uint16_t>(row, width, out, widen_f16);
    case Element::bf16:
      return widen_row<std::uint16_t>(row, width, out, widen_bf16);
    case Element::f8_e4m3:
      return widen_row<std::uint8_t>(row, width, out, widen_f8_e4m3);
    case Element::f8_e5m2:
      return widen_row<std::uint8_t>(row, width, out, [](std::uint8_t bits) {
        return widen_f16(static_cast<std::uint16_t>(bits << 8));
      });
    case Element::q8_0:
      return detail::widen_q8_0(row, width, out);
  }
}

}  // namespace lexikos

// bfloat16: the upper half of an fp32 number. It is a format for storing; arithmetic on it is done
// in fp32, which it converts to by itself and from only where the code says so.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>

namespace lexikos {

struct Bf16 {
  std::uint16_t bits;

  Bf16() = default;
  /// The nearest bfloat16, ties to even; NaN stays NaN, and what is too large becomes infinity.
  KOKKOS_FORCEINLINE_FUNCTION explicit Bf16(float value) {
    const auto b = __builtin_bit_cast(std::uint32_t, value);
    const std::uint32_t nearest = (b + 0x7FFFu + (b >> 16 & 1u)) >> 16;
    // Rounding must not carry NaN's mantissa away.
    const bool nan = (b & 0x7FFFFFFFu) > 0x7F800000u;
    bits = static_cast<std::uint16_t>(nan ? b >> 16 | 0x40u : nearest);
  }
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  KOKKOS_FORCEINLINE_FUNCTION explicit Bf16(T value) : Bf16(static_cast<float>(value)) {}
  KOKKOS_FORCEINLINE_FUNCTION operator float() const {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
  }
};
static_assert(sizeof(Bf16) == 2 && std::is_trivially_copyable_v<Bf16>);

/// What arithmetic on stored numbers of type A is done in.
template <class A>
using Wide = std::conditional_t<std::is_same_v<A, Bf16>, float, A>;

}  // namespace lexikos

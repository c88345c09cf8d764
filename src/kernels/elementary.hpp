// Elementary functions that vectorise on the host.
#pragma once

#include <Kokkos_Core.hpp>
#include <bit>
#include <cmath>
#include <cstdint>

namespace lexikos {

/// exp(x) for double: the library's.
KOKKOS_FORCEINLINE_FUNCTION double fast_exp(double x) { return ::exp(x); }

/// exp(x) for float, relative error below 2e-7 (tested). Arguments under -87 give about 1e-38 and
/// over 88 about 1e38; NaN stays NaN. On the host a polynomial, because a call of expf for each
/// element would keep the loop from being vectorised.
KOKKOS_FORCEINLINE_FUNCTION float fast_exp(float x) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  return ::expf(x);
#else
  constexpr float log2_e = 1.44269504f;
  constexpr float ln2_high = 0.693359375f;  // exact in few bits, so that n * ln2_high is exact
  constexpr float ln2_low = -2.12194440e-4f;
  const float clamped = x < -87.0f ? -87.0f : (x > 88.0f ? 88.0f : x);
  const float n = ::rintf(clamped * log2_e);
  const float f = (clamped - n * ln2_high) - n * ln2_low;
  float p = 1.9875691500e-4f;  // Cephes' minimax polynomial for (exp(f) - 1 - f) / f^2
  p = p * f + 1.3981999507e-3f;
  p = p * f + 8.3334519073e-3f;
  p = p * f + 4.1665795894e-2f;
  p = p * f + 1.6666665459e-1f;
  p = p * f + 5.0000001201e-1f;
  p = p * f * f + f + 1.0f;
  const std::int32_t exponent = (static_cast<std::int32_t>(n) + 127) << 23;
  return p * std::bit_cast<float>(exponent);
#endif
}

template <class S>
KOKKOS_FORCEINLINE_FUNCTION S sigmoid(S x) {
  return S(1) / (S(1) + fast_exp(-x));
}

}  // namespace lexikos

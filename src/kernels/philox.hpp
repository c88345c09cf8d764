// Counter-based random numbers: the value is a pure function of (key, counter), so it does not
// depend on the backend, the rank count or the order of evaluation.
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011),
// Philox-4x32 with 10 rounds.
#pragma once

#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace lexikos {

struct PhiloxWords {
  std::uint32_t word[4];
};

KOKKOS_INLINE_FUNCTION PhiloxWords philox4x32(PhiloxWords counter, std::uint32_t key0,
                                              std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter.word[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter.word[2];
    counter = {{static_cast<std::uint32_t>(b >> 32) ^ counter.word[1] ^ key0,
                static_cast<std::uint32_t>(b),
                static_cast<std::uint32_t>(a >> 32) ^ counter.word[3] ^ key1,
                static_cast<std::uint32_t>(a)}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

/// 64-bit FNV-1a: the stream that belongs to a name.
inline std::uint64_t stream_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3u;
  }
  return hash;
}

/// The four words of element `index` of stream `stream` under `seed`.
KOKKOS_INLINE_FUNCTION PhiloxWords random_words(std::uint64_t seed, std::uint64_t stream,
                                                std::uint64_t index) {
  const PhiloxWords counter{
      {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
       static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
  return philox4x32(counter, static_cast<std::uint32_t>(stream),
                    static_cast<std::uint32_t>(stream >> 32));
}

/// Uniform in (0, 1] with 53 bits.
KOKKOS_INLINE_FUNCTION double unit_interval(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = (static_cast<std::uint64_t>(high) << 32 | low) >> 11;
  return (static_cast<double>(bits) + 1.0) * 0x1.0p-53;
}

/// Standard normal value by Box and Muller, one value for each index.
KOKKOS_INLINE_FUNCTION double random_normal(std::uint64_t seed, std::uint64_t stream,
                                            std::uint64_t index) {
  const PhiloxWords w = random_words(seed, stream, index);
  constexpr double two_pi = 6.283185307179586476925;
  return ::sqrt(-2.0 * ::log(unit_interval(w.word[0], w.word[1]))) *
         ::cos(two_pi * unit_interval(w.word[2], w.word[3]));
}

}  // namespace lexikos

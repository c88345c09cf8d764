#include "utils/crc64.hpp"

#include <array>

namespace lexikos {
namespace {

constexpr std::uint64_t polynomial = 0xC96C5795D7870F42u;

using Tables = std::array<std::array<std::uint64_t, 256>, 8>;

/// tables[k][b]: what byte b does to the checksum when k more bytes follow it.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint64_t b = 0; b < 256; ++b) {
    std::uint64_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
    tables[0][b] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t b = 0; b < 256; ++b) {
      const std::uint64_t previous = tables[k - 1][b];
      tables[k][b] = tables[0][previous & 0xff] ^ (previous >> 8);
    }
  }
  return tables;
}

constexpr Tables tables = make_tables();

}  // namespace

std::uint64_t crc64(const void* bytes, std::size_t count, std::uint64_t before) {
  const auto* next = static_cast<const unsigned char*>(bytes);
  std::uint64_t crc = ~before;
  for (; count >= 8; next += 8, count -= 8) {
    for (int k = 0; k < 8; ++k) crc ^= std::uint64_t{next[k]} << (8 * k);
    std::uint64_t mixed = 0;
    for (std::size_t k = 0; k < 8; ++k) mixed ^= tables[7 - k][(crc >> (8 * k)) & 0xff];
    crc = mixed;
  }
  for (; count > 0; ++next, --count) crc = tables[0][(crc ^ *next) & 0xff] ^ (crc >> 8);
  return ~crc;
}

}  // namespace lexikos

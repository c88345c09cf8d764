// CRC-64 (polynomial of ECMA-182, bits reversed, as in XZ files): finds every change of up to 64
// neighbouring bits, and any other but for one in 2^64.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lexikos {

/// The checksum of `count` bytes that follow those whose checksum is `before` (0: none). About a
/// byte a clock cycle and more: eight bytes a round.
std::uint64_t crc64(const void* bytes, std::size_t count, std::uint64_t before = 0);

}  // namespace lexikos

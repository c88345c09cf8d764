// The seal: 32 bytes behind the end of an HDF5 file, with its length and checksum. HDF5 does not
// look behind its own end, so any HDF5 program reads a sealed file.
//
//   8 bytes "LXKSEAL\n", 8 zero bytes, length (uint64, little-endian), CRC-64 (the same)
#pragma once

#include <cstdint>
#include <string>

namespace lexikos {

inline constexpr std::uint64_t seal_bytes = 32;

/// The seal of the first `length` bytes of an open file; reads them. Throws Error(file).
std::string seal_of(int descriptor, std::uint64_t length, const std::string& path);

/// True where a file ends in something that looks like a seal; false also where there is no file.
bool has_seal(const std::string& path);

/// Reads a whole file and compares it with its seal. Throws Error(file), naming the file: no seal,
/// another length, a changed byte. `advice` ends the message. A file of 64 MiB and more that was
/// found whole and has not been written to since is not read again.
void check_seal(const std::string& path, const std::string& advice);

}  // namespace lexikos

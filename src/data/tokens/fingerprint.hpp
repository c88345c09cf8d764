// Fingerprint of token files: whether a restart reads what the run began with.
#pragma once

#include <string>
#include <vector>

namespace lexikos {

/// A file and what it is to a run: "train", "web" in a mixture, "validation".
struct RoleFile {
  std::string role;
  std::string path;
};

/// One line a file, "<role> <bytes> <CRC-64> <path>": its size and the checksum of its first and
/// last 64 KiB and of blocks of 4 KiB spread evenly between, 64 of them, fewer where there are many
/// files (at most about 4,096 in all, at least 2 a file). So a file of any size costs little, and a
/// change between the blocks is not seen; one that changes the size or the header is.
/// Errors (Status::file): a file that cannot be read.
std::string fingerprint_of(const std::vector<RoleFile>& files);

/// What differs first from an earlier fingerprint, in words that name the file; "" where nothing
/// does. Where a file lies is no matter, only its place in the order, its role and what it holds.
std::string fingerprint_difference(const std::string& before, const std::string& now);

}  // namespace lexikos

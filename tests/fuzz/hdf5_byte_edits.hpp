// Edits of an HDF5 file's bytes: regions, its length, its seal.
#pragma once

#include <string>
#include <vector>

#include "fuzz/hdf5_edit.hpp"

namespace lexikos::fuzz {

/// By the number that an edit gives.
enum class SealEdit { keep, none, renew };

struct ByteEdits {
  bool damaged = false;
  SealEdit seal = SealEdit::renew;
  std::string told;
};

/// Changes `bytes`, which are those of the file at `path`. Regions are the superblock, object
/// headers, everything with a signature (trees, heaps, symbol tables) and raw data.
ByteEdits edit_bytes(const std::string& path, std::string& bytes, const std::vector<Edit>& edits);

}  // namespace lexikos::fuzz

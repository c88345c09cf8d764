// capacity.h5: what job "capacity" found. src/outputs/README.md has the layout.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "capacity/analysis.hpp"
#include "hdf5/attributes.hpp"

namespace lexikos {

/// Newest format version of capacity.h5.
inline constexpr std::int64_t capacity_format_version = 2;

/// One analysed matrix.
struct CapacityRecord {
  std::string file, side;  // side: "input" or "output"
  capacity::MatrixReport report;
  std::optional<capacity::TokenCosines> token_cosines;  // with the file's other matrix
};

/// Writes the file whole. `root` are attributes beside format and format_version; `pieces` the
/// tokens' texts, empty where they are not known. Errors: as Hdf5Writer.
void write_capacity(const std::string& path, const Attributes& root,
                    const std::vector<CapacityRecord>& records, const capacity::Law& law,
                    const std::vector<std::string>& pieces);

}  // namespace lexikos

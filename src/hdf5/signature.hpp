// What says that a file is HDF5.
#pragma once

#include <cstdint>
#include <optional>

#include "utils/mapped_file.hpp"

namespace lexikos {

/// The byte at which HDF5's part of a file begins: 0, or behind a user block of 512, 1024, 2048 ...
/// bytes; nothing where the file is no HDF5.
std::optional<std::uint64_t> hdf5_begin(const MappedFile& file);

inline bool is_hdf5(const MappedFile& file) { return hdf5_begin(file).has_value(); }

}  // namespace lexikos

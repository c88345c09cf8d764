// Whether a file without a header can be what the deck says: raw uint16 ids.
#pragma once

#include "kokkos_types.hpp"
#include "utils/mapped_file.hpp"

namespace lexikos {

/// Throws Error(file) where the bytes show another thing than little-endian uint16 ids below
/// `vocabulary_size`, and says which: text, an archive, a format with a header, ids of another
/// width or byte order. Looks at the beginning and at samples spread over the file.
void require_raw_uint16(const MappedFile& file, Index vocabulary_size);

/// Throws Error(file) where the file begins like one of a known format that is not read as tokens.
void refuse_known_format(const MappedFile& file);

}  // namespace lexikos

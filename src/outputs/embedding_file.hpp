// embedding.h5: the materialised input table and the head of a trained model, for analysis.
//
// The tables come in blocks of rows, so that they are never in host memory twice. README.md has the
// layout.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "hdf5/attributes.hpp"

namespace lexikos {

/// Newest format version of embedding.h5.
inline constexpr std::int64_t embedding_format_version = 1;

/// Puts rows [begin, begin + rows) of a V x D table into out[rows][D] (host memory).
using RowBlock = std::function<void(std::int64_t begin, std::int64_t rows, float* out)>;

/// Writes `path`: /input and /output, both V x D float32, with `attributes` (deck, code_version,
/// member, step, ...) on the root beside format and format_version. The blocks come in ascending
/// order, first all of the input, then all of the output. Errors: as Hdf5Writer, and whatever a
/// callback throws.
void write_embedding(const std::string& path, const Attributes& attributes,
                     std::int64_t vocabulary_size, std::int64_t width, const RowBlock& input,
                     const RowBlock& output);

}  // namespace lexikos

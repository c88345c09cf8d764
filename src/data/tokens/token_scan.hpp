// Passes over the ids of a source in blocks: their check and their counts.
#pragma once

#include <cstdint>
#include <vector>

#include "data/tokens/token_source.hpp"

namespace lexikos {

/// Reads the ids [begin, end) once; end < 0 stands for size(). Each rank may check its share. An id
/// that is not below the vocabulary size is an Error(Status::file) with file and offset.
void check_ids(const TokenSource& source, Index begin = 0, Index end = -1);

/// Looks at blocks of ids spread over a source, its end among them: the check of check_ids, and
/// that they are not all one and the same id, as in a file that was laid out and never written.
void check_sample(const TokenSource& source);

/// How often each id occurs in a source [V]; errors as check_ids.
std::vector<std::uint64_t> count_tokens(const TokenSource& source);

/// The part `rank` of `rank_count` of a count over at most `most` tokens (0: all), in blocks spread
/// evenly over the source; the sum over all ranks is the count. Reads what it counts: a second a
/// rank for each gigabyte or so, from disk as fast as that is.
std::vector<std::uint64_t> count_share(const TokenSource& source, Index most, int rank,
                                       int rank_count);

}  // namespace lexikos

// Lets the root read arenas of which every rank holds only its slice, piece by piece: the root
// asks, the owners answer, and no rank holds more than the piece.
#pragma once

#include <vector>

#include "kokkos_types.hpp"
#include "parallel/communicator.hpp"

namespace lexikos {

template <class S>
class SliceReader {
 public:
  /// `slices`: this rank's slice of each arena, slice_of(arena_size, rank, ranks). They stay where
  /// they are.
  SliceReader(const Communicator& comm, std::vector<Buffer<S>> slices, Index arena_size);

  /// On the root, between the other ranks' answer() and close(): overwrites out[end - begin], in
  /// host memory, with elements [begin, end) of arena number `arena`.
  void read(int arena, Index begin, Index end, S* out);

  /// On the root: the others' answer() returns.
  void close();

  /// On the other ranks: sends what the root asks for until it closes.
  void answer();

 private:
  struct Question {
    Index arena = 0, begin = 0, end = 0;  // elements of the whole arena; arena -1: no more
  };
  void copy_own(int arena, Index begin, Index end, S* out) const;
  void ask(int rank, const Question& question) const;

  const Communicator& comm_;
  std::vector<Buffer<S>> slices_;
  Index arena_size_;
};

}  // namespace lexikos

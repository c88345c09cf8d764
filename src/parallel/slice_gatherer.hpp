// Brings every rank's slice of an arena to all ranks: parameters, after each rank updated its own.
#pragma once

#include "parallel/gradient_reducer.hpp"

namespace lexikos {

template <class S>
class SliceGatherer {
 public:
  /// `arena` stays where it is; rank r owns slice_of(arena.size(), r, ranks). With one rank nothing
  /// is sent.
  SliceGatherer(const Communicator& comm, const ParallelSettings& settings, Buffer<S> arena);

  /// Overwrites the slices of the other ranks with what they have there. Collective; waits.
  void gather(const ExecSpace& space);

  /// One message of each rank, where messages are staged.
  Index staging_bytes() const { return static_cast<Index>(staging_.size() * sizeof(S)); }

 private:
  void gather_round(const ExecSpace& space, Index round);

  const Communicator& comm_;
  MessagePath path_;
  Index bucket_;  // elements of a message at most
  Index rounds_;  // messages of the longest slice
  Buffer<S> arena_;
  HostBuffer<S> staging_;
};

}  // namespace lexikos

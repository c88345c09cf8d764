// Sums gradients over ranks, slice by slice, while the backward pass goes on.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

#include "deck/deck.hpp"
#include "kokkos_types.hpp"
#include "parallel/communicator.hpp"
#include "parallel/messages.hpp"

namespace lexikos {

struct ParallelSettings {
  std::string gpu_aware_mpi;     // "auto", "on", "off"
  Index bucket_bytes;            // largest message
  bool shard_optimizer = false;  // each rank keeps AdamW's moments of its slice only
  int plan_ranks = 0;            // that -n plans for; 0: those there are
  static ParallelSettings read(const Deck& deck);
};

/// How messages leave device memory.
enum class MessagePath {
  direct,  // MPI reads and writes the arena itself
  staged,  // by way of a copy in host memory
};

/// The path for these settings; "auto" takes the direct one where memory is the host's or this MPI
/// says that it knows the device.
MessagePath message_path(const ParallelSettings& settings);

/// True where this MPI library says that it takes device pointers.
bool mpi_is_gpu_aware();

template <class S>
class GradientReducer {
 public:
  /// `gradients` is the arena; it stays where it is. With one rank nothing is sent.
  GradientReducer(const Communicator& comm, const ParallelSettings& settings, Buffer<S> gradients);
  /// Memory of messages that were not finished stays allocated.
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  /// Starts the sum of elements [begin, end). All ranks call in the same order.
  void start(const ExecSpace& space, Index begin, Index end);

  /// Waits for everything started; then the arena holds the sums on every rank.
  void finish(const ExecSpace& space);

  Index staging_bytes() const { return static_cast<Index>(staging_.size() * sizeof(S)); }

 private:
  struct Message {
    Index begin, end;
  };
  void start_message(const ExecSpace& space, Index begin, Index end);

  const Communicator& comm_;
  MessagePath path_;
  Index bucket_;
  Buffer<S> gradients_;
  HostBuffer<S> staging_;
  std::vector<Message> messages_;
  std::vector<MPI_Request> requests_;
  std::optional<DirectMessages> direct_;  // while requests are under way
};

}  // namespace lexikos

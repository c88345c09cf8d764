// A rank's part of a step, put together in host memory: what is then moved to the device as it is.
#pragma once

#include <cstdint>
#include <vector>

#include "data/batches/samples.hpp"
#include "kokkos_types.hpp"
#include "utils/share.hpp"

namespace lexikos {

/// Where the parts of a rank's largest batch lie in one buffer, in words of 4 bytes; the same on
/// host and device. StepBatch says what the parts are.
struct BatchLayout {
  struct Places {
    Index ids, targets, slot, touched, bucket_begin, bucket_position;
    Index place, nothing, own_begin;  // with document_mask: what Spans needs
  };

  /// `most` sequences in micro-batches of at most `micro_sequences`. Errors (Status::resource):
  /// more than 2^31 positions.
  BatchLayout(Index vocabulary_size, Index T, Index most, Index micro_sequences,
              bool document_mask);

  Index T;
  Index micro_sequences;
  Index vocabulary_size;
  bool document_mask;
  Index distinct_most;        // the distinct tokens come first, at 0
  Index words = 0;            // of all
  std::vector<Places> micro;  // one a micro-batch
};

/// Reads windows and sorts their positions by token. No Kokkos kernel and no MPI: may be used from
/// another thread than the main one where samples().reads_on_any_thread().
class HostBatch {
 public:
  HostBatch(Samples samples, const BatchLayout& layout);

  /// Overwrites everything below with the batch of these samples, a rank's share of a step. Errors
  /// (Status::file): an id that is not below the vocabulary size.
  void assemble(Share samples);

  /// [layout.words]
  [[nodiscard]] const HostBuffer<std::uint32_t>& words() const { return words_; }
  [[nodiscard]] Index sequences() const { return sequences_; }
  [[nodiscard]] Index distinct_count() const { return distinct_count_; }
  /// Of each micro-batch.
  [[nodiscard]] const std::vector<Index>& touched_counts() const { return touched_counts_; }
  /// Sequences of micro-batch m.
  [[nodiscard]] Index micro_sequences(Index m) const;

  [[nodiscard]] const Samples& samples() const { return samples_; }
  /// Memory, bytes.
  [[nodiscard]] Index bytes() const;

 private:
  void read_windows(Share samples);
  void find_documents(const Sample& sample, std::int32_t* own_begin);
  void find_distinct();
  Index fill_buckets(Index m);
  std::int32_t* whole_numbers(Index place) {
    return reinterpret_cast<std::int32_t*>(host_pointer(words_) + place);
  }

  Samples samples_;
  BatchLayout layout_;
  HostBuffer<std::uint32_t> words_;
  Index sequences_ = 0;
  Index distinct_count_ = 0;
  std::vector<Index> touched_counts_;

  // Work space.
  std::vector<TokenId> window_;         // [T + 1]
  std::vector<Index> starts_;           // places of a window at which documents begin
  std::vector<std::uint64_t> present_;  // [V] bits: ids of this step
  std::vector<std::int32_t> row_of_;    // [V] id -> row in distinct, valid where present
  std::vector<std::int32_t> cursor_;    // [U] of a micro-batch: counts, then the next free place
};

}  // namespace lexikos

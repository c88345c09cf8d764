// What one step needs of the data, on the device: ids, targets, and positions bucketed by token.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/sample_order.hpp"
#include "data/token_source.hpp"
#include "kernels/spans.hpp"
#include "kokkos_types.hpp"

namespace lexikos {

/// One micro-batch: whole sequences; positions n = b T + t, N = sequences T.
struct MicroBatch {
  Index sequences = 0;
  Index T = 0;
  View1<const TokenId> ids;           ///< [N]
  View1<const TokenId> targets;       ///< [N] the token after each position
  View1<const std::int32_t> slot;     ///< [N] position -> row in StepBatch::distinct
  Index touched_count = 0;            ///< distinct tokens of this micro-batch
  View1<const std::int32_t> touched;  ///< [touched_count] rows in StepBatch::distinct, ascending
  View1<const std::int32_t> bucket_begin;     ///< [touched_count + 1]
  View1<const std::int32_t> bucket_position;  ///< [N] positions by touched row, ascending in each
  Spans spans;                                ///< which keys each position sees; plain: causal
};

/// This rank's part of one step. The views are windows on the loader's memory.
struct StepBatch {
  Index sequences = 0;  ///< of this rank
  Index T = 0;
  Index distinct_count = 0;       ///< U
  View1<const TokenId> distinct;  ///< [U] the distinct input tokens of this rank's step, ascending
  std::vector<MicroBatch> micro;  ///< empty on a rank without sequences
  Index targets_global = 0;       ///< over all ranks: what the summed loss is divided by
};

/// A half-open range.
struct Share {
  Index begin = 0;
  Index end = 0;
  [[nodiscard]] Index size() const { return end - begin; }
};

/// The part of [0, count) that belongs to `rank`: contiguous, in rank order, sizes that differ by
/// at most one (the first count % rank_count ranks have one more).
Share share_of(Index count, int rank, int rank_count);

/// What an evaluation reads: `count` of the `total` windows of a source, in order and evenly spread
/// over it, so that a part of a file stands for all of its documents.
struct WindowSelection {
  Index count = 0;
  Index total = 0;
  /// The window that is number i of the selection, i < count.
  [[nodiscard]] Index window(Index i) const { return i * total / count; }
};

/// Windows of `source` that together hold at most `tokens` targets (at least one window);
/// tokens <= 0 stands for all. Errors: as window_count.
WindowSelection select_windows(const TokenSource& source, Index T, Index tokens);

/// How often each id is a target in the selected windows [V]. Errors (Status::file): an id that is
/// not below the vocabulary size.
std::vector<std::uint64_t> count_targets(const TokenSource& source, Index T,
                                         const WindowSelection& windows);

/// Builds the batches of one rank. One host buffer, one device buffer, one transfer a step; nothing
/// is allocated after construction. `source` must outlive the loader.
class BatchLoader {
 public:
  /// Training: step k has the samples number k S .. k S + S - 1 (S = sequences_global) of
  /// SampleOrder over all windows, epoch after epoch; this rank takes its share of them, which may
  /// be none. Errors: T, sequences_global or micro_batch_sequences < 1 (Status::deck); fewer tokens
  /// than one window (Status::file); more than 2^31 positions on one rank (Status::resource).
  BatchLoader(const TokenSource& source, Index T, Index sequences_global, int rank, int rank_count,
              Index micro_batch_sequences, std::uint64_t seed);

  /// Evaluation: the selected windows in order, S a step; the last step may have fewer.
  BatchLoader(const TokenSource& source, Index T, Index sequences_global, int rank, int rank_count,
              Index micro_batch_sequences, WindowSelection windows);

  /// The batch of a step >= 0, on the device when this returns; valid until the next call. Waits
  /// for kernels that still read the last one. Errors (Status::file): an id that is not below the
  /// vocabulary size; an evaluation step past steps().
  const StepBatch& load(Index step);

  /// Windows of an epoch, or of the evaluation.
  [[nodiscard]] Index sample_count() const { return sample_count_; }
  /// Steps of the evaluation; training has no last step, and -1 is returned.
  [[nodiscard]] Index steps() const;
  /// The samples of a step that this rank reads, numbered over all ranks since the start.
  [[nodiscard]] Share samples(Index step) const;
  /// The window that sample number `global` is.
  [[nodiscard]] Index window(Index global) const;

  /// Device memory, bytes.
  [[nodiscard]] Index bytes() const;
  /// Host memory: staging and work space, bytes.
  [[nodiscard]] Index host_bytes() const;

 private:
  // Where a micro-batch lies in the buffers, in words of 4 bytes, for its largest size.
  struct Places {
    Index ids, targets, slot, touched, bucket_begin, bucket_position;
  };

  BatchLoader(const TokenSource& source, Index T, Index sequences_global, int rank, int rank_count,
              Index micro_batch_sequences, std::uint64_t seed, std::optional<WindowSelection> windows);

  void lay_out();
  [[nodiscard]] Share global_samples(Index step) const;
  void read_windows(Share samples);
  void find_distinct();
  void fill_buckets(MicroBatch& micro, const Places& places);

  const TokenSource& source_;
  Index T_;
  Index sequences_global_;
  int rank_;
  int rank_count_;
  Index micro_sequences_;
  std::optional<WindowSelection> windows_;  // set for an evaluation
  Index sample_count_;
  SampleOrder order_;

  std::vector<Places> places_;  // one a micro-batch; the distinct tokens come first, at 0
  HostBuffer<std::uint32_t> staging_;
  Buffer<std::uint32_t> device_;

  // Work space on the host.
  std::vector<TokenId> window_;         // [T + 1]
  std::vector<std::uint64_t> present_;  // [V] bits: ids of this step
  std::vector<std::int32_t> row_of_;    // [V] id -> row in distinct, valid where present
  std::vector<std::int32_t> cursor_;    // [U] of a micro-batch: counts, then the next free place

  StepBatch batch_;
};

}  // namespace lexikos

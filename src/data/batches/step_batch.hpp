// What one step needs of the data, on the device: ids, targets, and positions bucketed by token.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/batches/host_batch.hpp"
#include "data/batches/model_input.hpp"
#include "data/batches/read_ahead.hpp"
#include "data/batches/samples.hpp"
#include "kokkos_types.hpp"
#include "utils/share.hpp"

namespace lexikos {

/// One micro-batch: whole sequences; positions n = b T + t, N = sequences T.
struct MicroBatch {
  ModelInput input;                        ///< its slots are rows in StepBatch::distinct
  View1<const TokenId> ids;                ///< [N]
  View1<const TokenId> targets;            ///< [N] the token after each position
  View1<const std::int32_t> touched;       ///< [K] rows in StepBatch::distinct it reads, ascending
  View1<const std::int32_t> bucket_begin;  ///< [K + 1]
  View1<const std::int32_t> bucket_position;  ///< [N] positions by touched row, ascending in each
};

/// This rank's part of one step. The views are windows on the loader's memory.
struct StepBatch {
  Index sequences = 0;  ///< of this rank
  Index T = 0;
  View1<const TokenId> distinct;  ///< [U] the distinct input tokens of this rank's step, ascending
  std::vector<MicroBatch> micro;  ///< empty on a rank without sequences
  Index targets_global = 0;       ///< over all ranks: what the summed loss is divided by
};

/// How samples are cut into batches, and which rank's share is meant.
struct BatchSizes {
  Index T = 0;
  Index sequences = 0;        ///< of a step, over all ranks
  Index micro_sequences = 0;  ///< of a micro-batch, at most
  int rank = 0;
  int ranks = 1;
};

struct BatchOptions {
  bool read_ahead = true;  ///< the next step's batch is put together in the background
  /// MicroBatch::spans keep attention inside documents, which the sources must know.
  bool document_mask = false;
};

/// Builds the batches of one rank. One host buffer, one device buffer, one transfer a step; nothing
/// is allocated after construction. The sources must outlive the loader.
///
/// While the device computes on a step, a thread of the loader's own reads and sorts the next one
/// into the host buffer (ReadAhead), unless the options or the sources forbid it: those that go
/// through HDF5 are read when they are asked for.
class BatchLoader {
 public:
  /// Training: step k has the samples number k S .. k S + S - 1 (S = sizes.sequences) of Samples,
  /// epoch after epoch; this rank takes its share of them, which may be none. Errors: a size < 1
  /// (Status::deck); fewer tokens than one window (Status::file); more than 2^31 positions on one
  /// rank (Status::resource); a bad mixture; document_mask with a source that does not know its
  /// documents (Status::deck).
  BatchLoader(const std::vector<WeightedSource>& sources, const BatchSizes& sizes,
              std::uint64_t seed, const BatchOptions& options = {});
  /// Training on one source.
  BatchLoader(const TokenSource& source, const BatchSizes& sizes, std::uint64_t seed,
              const BatchOptions& options = {});

  /// Evaluation: the selected windows in order, S a step; the last step may have fewer.
  BatchLoader(const TokenSource& source, const BatchSizes& sizes, WindowSelection windows,
              const BatchOptions& options = {});

  /// The batch of a step >= 0, on the device when this returns; valid until the next call. Waits
  /// for kernels that still read the last one. Errors (Status::file): an id that is not below the
  /// vocabulary size; an evaluation step past steps(). What went wrong while this step was read
  /// ahead is thrown here.
  const StepBatch& load(Index step);

  /// Windows of an epoch (over all sources), or of the evaluation.
  [[nodiscard]] Index sample_count() const { return host_->samples().count(); }
  /// Steps of the evaluation; training has no last step, and -1 is returned.
  [[nodiscard]] Index steps() const;
  /// The samples of a step that this rank reads, numbered over all ranks since the start.
  [[nodiscard]] Share samples(Index step) const;
  /// The window that sample number `global` is.
  [[nodiscard]] Sample sample(Index global) const { return host_->samples().sample(global); }
  /// Whether batches are read ahead.
  [[nodiscard]] bool reads_ahead() const { return ahead_ != nullptr; }

  /// Device memory, bytes.
  [[nodiscard]] Index bytes() const;
  /// Host memory: staging and work space, bytes.
  [[nodiscard]] Index host_bytes() const;

 private:
  BatchLoader(Samples samples, const BatchSizes& sizes, const BatchOptions& options);

  [[nodiscard]] Share global_samples(Index step) const;
  void point_to_device();

  Index sequences_;  // of a step, over all ranks
  int rank_, ranks_;
  BatchLayout layout_;
  std::unique_ptr<HostBatch> host_;  // stays in its place when the loader is moved
  Buffer<std::uint32_t> device_;
  StepBatch batch_;
  std::unique_ptr<ReadAhead> ahead_;  // last, so that its thread ends before the rest goes
};

}  // namespace lexikos

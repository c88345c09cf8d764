// Device memory that a rank of a training run needs, and which micro-batch fits a device.
#pragma once

#include "train/settings.hpp"

namespace lexikos {

/// Bytes of one rank. What driver, MPI and libraries take for themselves is not among them.
struct MemoryNeed {
  int ranks = 1;      // of the run
  Index values = 0;   // parameters and gradients
  Index moments = 0;  // AdamW's two, of all parameters or of the rank's slice
  Index kept = 0;     // activations kept through a step
  Index shared = 0;   // work space that phases overlay
  Index batch = 0;    // token ids and buckets
  Index peak() const { return values + moments + kept + shared + batch; }
};

/// Of the first rank of `ranks`, whose share of batch and moments is never the smallest. `sizes`
/// are those that `model` was made with.
MemoryNeed memory_need(const MemberSettings& settings, const Model<float>& model,
                       const ModelSizes& sizes, int ranks);

/// The largest micro-batch, in sequences, up to a rank's whole share, whose peak is at most
/// `bytes`; 0 where one sequence does not fit.
Index largest_micro_batch(const MemberSettings& settings, Index vocabulary, int ranks, Index bytes);

}  // namespace lexikos

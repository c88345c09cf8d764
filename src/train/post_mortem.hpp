// Which samples and which tensors are not finite, after a step that must not be taken.
#pragma once

#include "data/batches/step_batch.hpp"
#include "model.hpp"
#include "parallel/communicator.hpp"
#include "train/post_mortem_file.hpp"
#include "train/step_record.hpp"
#include "utils/error.hpp"

namespace lexikos {

/// Thrown on every rank, before the update, by a step whose loss or gradient is not finite.
class NotFinite : public Error {
 public:
  NotFinite(const StepRecord& record, PostMortem found);
  StepRecord record;
  PostMortem found;
};

/// Looks at the model as forward_backward and the sum over ranks have left it. Collective.
PostMortem examine(const ExecSpace& space, const Model<float>& model, const StepBatch& batch,
                   const BatchLoader& loader, Index step, const Communicator& comm);

}  // namespace lexikos

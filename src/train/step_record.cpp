#include "train/step_record.hpp"

namespace lexikos {

const RowGroup<StepRecord> StepRecord::group = {
    "history",
    "one row a recorded training step",
    {step_column<StepRecord>(),
     tokens_column<StepRecord>(),
     {"train_loss", "nats per token",
      "cross entropy of this step's batch before the update, summed over its targets and divided "
      "by their number",
      &StepRecord::loss},
     {"learning_rate", "1", "learning rate of this step's update", &StepRecord::learning_rate},
     {"gradient_norm", "1", "Euclidean norm of the whole gradient before clipping",
      &StepRecord::gradient_norm},
     {"seconds", "s",
      "wall time of training up to this step, over all restarts, without evaluation and output",
      &StepRecord::train_seconds},
     {"tokens_per_second", "tokens/s", "target tokens of all ranks over this step's wall time",
      &StepRecord::tokens_per_second},
     {"data_seconds", "s",
      "part of this step's wall time until every rank had its batch on its device",
      &StepRecord::data_seconds},
     {"skipped", "1", "1 where the spike guard left this step's update out, else 0",
      &StepRecord::skipped}}};

}  // namespace lexikos

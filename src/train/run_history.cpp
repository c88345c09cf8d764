#include "train/run_history.hpp"

#include "train/evaluator.hpp"
#include "train/geometry.hpp"
#include "train/step_record.hpp"

namespace lexikos {

History run_history() {
  History history;
  history.declare<StepRecord>();
  history.declare<ValidationRow>();
  history.declare<FrequencyRow>();
  history.declare<GeometryRow>();
  return history;
}

}  // namespace lexikos

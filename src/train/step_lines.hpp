// What a training run prints of its steps.
#pragma once

#include "console/console.hpp"
#include "train/step_record.hpp"

namespace lexikos {

class StepLines {
 public:
  /// A line every `every` of `steps` steps. The share of the GEMM rate (FLOP/s, of all ranks; NaN:
  /// not measured) is that of `flops_per_token`. `console` must outlive this object.
  StepLines(Console& console, Index steps, Index every, double flops_per_token, double gemm_rate);

  /// A line where one is due, of the first and the last step too; a line where the update was left
  /// out; the progress bar.
  void print(const StepRecord& record) const;

 private:
  Console& console_;
  Index steps_, every_;
  double flops_per_token_, gemm_rate_;
};

}  // namespace lexikos

#include "train/step_lines.hpp"

#include <cstdio>

namespace lexikos {

StepLines::StepLines(Console& console, Index steps, Index every, double flops_per_token,
                     double gemm_rate)
    : console_(console),
      steps_(steps),
      every_(every),
      flops_per_token_(flops_per_token),
      gemm_rate_(gemm_rate) {}

void StepLines::print(const StepRecord& r) const {
  if (r.step % every_ == 0 || r.step == steps_ || r.step == 1) {
    StepLine line;
    line.step = r.step;
    line.steps = steps_;
    line.tokens = r.tokens;
    line.loss = r.loss;
    line.learning_rate = r.learning_rate;
    line.gradient_norm = r.gradient_norm;
    line.tokens_per_second = r.tokens_per_second;
    line.data_seconds = r.data_seconds;
    line.gemm_share = flops_per_token_ * r.tokens_per_second / gemm_rate_;
    console_.step(line);
  }
  if (r.skipped > 0) {
    char text[160];
    std::snprintf(text, sizeof text, "step=%lld left out by the spike guard: loss=%.4f norm=%.2f",
                  static_cast<long long>(r.step), r.loss, r.gradient_norm);
    console_.line(text);
  }
  console_.progress(r.step, steps_, r.train_seconds);
}

}  // namespace lexikos

#include "driver/bench.hpp"

#include <algorithm>
#include <cstdio>

#include "driver/configuration.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

std::string percent(double share, int digits = 1) {
  char text[16];
  std::snprintf(text, sizeof text, "%.*f %%", digits, 100.0 * share);
  return text;
}

}  // namespace

void bench(const MemberSettings<float>& settings, RunData data, const Communicator& comm,
           Console& console) {
  MemberSettings<float> timed = settings;
  timed.run.gemm_rate = true;  // the measure of everything below
  Trainer<float> trainer(timed, std::move(data), comm, console);
  console.line("GEMM rate    " + format_si(trainer.gemm_rate().square, "FLOP/s") +
               " square, " + format_si(trainer.gemm_rate().step, "FLOP/s") +
               " on the step's shapes (" + gemm_library_name<float>() + ")");
  std::vector<double> seconds, shares, data_shares;
  double in_interface = 0;
  trainer.time_interface(&in_interface);
  for (Index number = 1; number <= timed.run.steps; ++number) {
    in_interface = 0;
    const StepRecord r = trainer.step(number);
    if (number > 1 || timed.run.steps == 1) {
      seconds.push_back(r.seconds);
      shares.push_back(in_interface / r.seconds);
      data_shares.push_back(r.data_seconds / r.seconds);
    }
    console.progress(number, timed.run.steps, r.seconds * static_cast<double>(number));
  }
  const double step = median(seconds);
  const double tokens = static_cast<double>(timed.run.batch_tokens);
  const double work = trainer.flops_per_token() * tokens;
  console.line("step         " + format_duration(step) + " median of " +
               std::to_string(seconds.size()) + ", " +
               format_count(static_cast<std::int64_t>(tokens / step)) + " tokens/s, " +
               device_text());
  console.line("interface    " + percent(median(shares)) + " of a step: " +
               timed.model.interface + ", forward and backward, look-up and scatter aside");
  console.line("data         " + percent(median(data_shares), 3) +
               " of a step: waiting for its batch" +
               (timed.run.data.read_ahead ? "" : ", which is not read ahead"));
  console.line("work         " + format_si(work, "FLOP") + " a step, " +
               format_si(work / step, "FLOP/s"));
  console.line("share        " + percent(work / step / trainer.gemm_rate_of_all()) +
               " of the sustained GEMM rate, " +
               format_si(trainer.gemm_rate_of_all(), "FLOP/s") + " (the larger of the two)");
}

}  // namespace lexikos

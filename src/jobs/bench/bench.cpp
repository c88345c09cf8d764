#include "jobs/bench/bench.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>

#include "console/configuration.hpp"
#include "jobs/bench/region_table.hpp"
#include "jobs/model_job.hpp"
#include "train/gemm_rate.hpp"
#include "train/trainer.hpp"
#include "utils/median.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

constexpr const char* interface_region = "model::interface";

std::string percent(double share, int digits = 1) {
  char text[16];
  std::snprintf(text, sizeof text, "%.*f %%", digits, 100.0 * share);
  return text;
}

void print_regions(const RegionTable& regions, const std::vector<double>& seconds, double gemm_rate,
                   Console& console) {
  if (!regions.available()) {
    console.line("regions      left to the profiling tool that is loaded");
    return;
  }
  const double steps = static_cast<double>(seconds.size());
  const double mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) / steps;
  const double copy_rate = measure_copy_rate();
  const double bound = regions.bound_seconds(steps, gemm_rate, copy_rate);
  console.line("memory       " + format_si(copy_rate, "B/s") + " read and written by a copy");
  console.line("bound        " + format_duration(bound) +
               " if every region ran at its bound: " + percent(bound / mean) + " of the mean step");
  for (const std::string& line : regions.lines(steps, mean, gemm_rate, copy_rate)) {
    console.line(line);
  }
}

#if defined(LEXIKOS_EMULATE_DEVICE)
/// What the steps would have asked of a device.
class Launches {
 public:
  void step_begins() { before_ = emulation::counts(); }
  void step_ends() {
    const emulation::Counts now = emulation::counts();
    for (const auto& [label, count] : now.launches)
      launches_[label] += count - before_.launches[label];
    copies_ += now.copies - before_.copies;
    copied_bytes_ += now.copied_bytes - before_.copied_bytes;
    ++steps_;
  }
  void print(Console& console) const {
    std::vector<std::pair<Index, std::string>> kernels;
    Index all = 0;
    for (const auto& [label, count] : launches_) {
      if (count == 0) continue;
      kernels.emplace_back(count / steps_, label);
      all += count / steps_;
    }
    std::sort(kernels.rbegin(), kernels.rend());
    console.line("copies       " + std::to_string(copies_ / steps_) +
                 " a step between host and device, " +
                 format_bytes(static_cast<double>(copied_bytes_ / steps_)));
    console.line("launches     " + std::to_string(all) + " kernels a step on a device:");
    for (const auto& [count, label] : kernels) {
      console.line("  " + label + " " + std::string(std::max<int>(1, 50 - int(label.size())), '.') +
                   " " + std::to_string(count));
    }
  }

 private:
  emulation::Counts before_;
  std::map<std::string, Index> launches_;
  Index copies_ = 0, copied_bytes_ = 0, steps_ = 0;
};
#else
/// A device's launches are counted where one is emulated (LEXIKOS_EMULATE_DEVICE).
struct Launches {
  void step_begins() {}
  void step_ends() {}
  void print(Console&) const {}
};
#endif

struct Timings {
  std::vector<double> seconds, interface_share, data_share, gemm_rate;
};

/// Steps and passes of bare products in turn, so that both see the same hour of the machine.
template <class A>
Timings time_steps(Trainer& trainer, Index steps, const std::vector<StepProduct>& products,
                   RegionTable& regions, Launches& launches, Console& console) {
  GemmProbe<A> probe(products);
  Timings t;
  const Clock clock;
  for (Index number = 1; number <= steps; ++number) {
    // The first step is slower: it compiles products and touches memory for the first time.
    const bool counts = number > 1 || steps == 1;
    const double interface_before = regions.seconds_of(interface_region);
    if (counts) regions.start();
    if (counts) launches.step_begins();
    const StepRecord r = trainer.step(number);
    if (counts) launches.step_ends();
    regions.stop();
    const double rate = probe.pass();
    if (counts) {
      t.seconds.push_back(r.seconds);
      t.interface_share.push_back((regions.seconds_of(interface_region) - interface_before) /
                                  r.seconds);
      t.data_share.push_back(r.data_seconds / r.seconds);
      t.gemm_rate.push_back(rate);
    }
    console.progress(number, steps, clock.seconds());
  }
  return t;
}

template <class A>
std::string rates(const char* name, const std::vector<StepProduct>& products) {
  const GemmRate rate = measure_gemm_rate<A>(products);
  return std::string(name) + " " + format_si(rate.step, "FLOP/s") + " on the step's shapes, " +
         format_si(rate.square, "FLOP/s") + " square";
}

class BenchJob final : public ModelJob {
 public:
  using ModelJob::ModelJob;
  Outcome run(const JobContext& context) override;
};

Outcome BenchJob::run(const JobContext& context) {
  const auto& [arguments, comm, console, since_start] = context;
  const RunData data = open_data(settings_.data, settings_.seed, comm);
  const bool bf16 = settings_.model.execution.compute == Compute::bf16;
  Trainer trainer(settings_, data, comm);
  const Index positions = std::max<Index>(1, trainer.model().shape().positions());
  const auto products =
      step_products(settings_.model.transformer, trainer.model().shape().vocabulary,
                    settings_.model.head.chunk, positions);
  console.line("GEMM, best   " + rates<float>("fp32", products) + " (" +
               gemm_library_name<float>() + ")");
  console.line("             " + rates<Bf16>("bf16", products));
  RegionTable regions;
  Launches launches;
  const Timings t =
      bf16 ? time_steps<Bf16>(trainer, settings_.run.steps, products, regions, launches, console)
           : time_steps<float>(trainer, settings_.run.steps, products, regions, launches, console);
  const double step = median(t.seconds), rate = comm.sum(median(t.gemm_rate));
  const double tokens = static_cast<double>(settings_.batch.tokens);
  const double work = trainer.flops_per_token() * tokens;
  console.line("step         " + format_duration(step) + " median of " +
               std::to_string(t.seconds.size()) + ", " +
               format_count(static_cast<std::int64_t>(tokens / step)) + " tokens/s, " +
               device_text() + (bf16 ? ", bf16" : ", fp32"));
  console.line("interface    " +
               (regions.available() ? percent(median(t.interface_share)) + " of a step: "
                                    : "left to the profiling tool that is loaded: ") +
               settings_.model.interface + ", forward and backward, look-up and scatter aside");
  console.line("data         " + percent(median(t.data_share), 3) +
               " of a step: waiting for its batch" +
               (settings_.data.read_ahead ? "" : ", which is not read ahead"));
  console.line("work         " + format_si(work, "FLOP") + " a step, " +
               format_si(work / step, "FLOP/s"));
  console.line("share        " + percent(work / step / rate) +
               " of the GEMM rate sustained on the step's shapes,");
  console.line("             " + format_si(rate, "FLOP/s") +
               ", the median of one pass of them after each step");
  print_regions(regions, t.seconds, median(t.gemm_rate), console);
  launches.print(console);
  return {};
}

}  // namespace

std::unique_ptr<Job> read_bench(JobDeck& from) {
  return std::make_unique<BenchJob>(read_member(from));
}

}  // namespace lexikos

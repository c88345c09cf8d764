#include "jobs/train/train.hpp"

#include <cmath>
#include <limits>

#include "jobs/model_job.hpp"
#include "train/checkpoint_use.hpp"
#include "train/checkpointing.hpp"
#include "train/evaluator.hpp"
#include "train/gemm_rate.hpp"
#include "train/geometry.hpp"
#include "train/member_files.hpp"
#include "train/provenance.hpp"
#include "train/run_files.hpp"
#include "train/stop_signal.hpp"
#include "train/trainer.hpp"
#include "utils/median.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

/// The checkpoint to go on from; "" for a fresh start.
std::string checkpoint_for(const std::string& asked, const std::string& folder,
                           const Communicator& comm, Console& console) {
  if (asked != "latest") return asked;
  const std::string path = newest_checkpoint(folder, comm, console);
  if (path.empty()) {
    console.line("no checkpoint in " + folder + "; starting from the beginning");
  }
  return path;
}

/// A fresh start must not mix its files with an older run's.
void refuse_old_files(const std::string& folder, const Communicator& comm) {
  comm.on_root([&] {
    if (find_newest_checkpoint(folder)) {
      fail(Status::file, "'" + folder +
                             "' holds checkpoints of an earlier run; go on with -r latest, or "
                             "choose another folder with -d");
    }
  });
}

/// Sum of the ranks' sustained rates, FLOP/s; NaN where the deck does not ask for it.
double gemm_rate_of_all(const MemberSettings& settings, const ModelShape& shape,
                        const Communicator& comm) {
  if (!settings.run.gemm_rate) return nan_value;
  const auto products =
      step_products(settings.model.transformer, shape.vocabulary, settings.model.head.chunk,
                    std::max<Index>(1, shape.positions()));
  const bool bf16 = settings.model.execution.compute == Compute::bf16;
  const GemmRate rate =
      bf16 ? measure_gemm_rate<Bf16>(products) : measure_gemm_rate<float>(products);
  return comm.sum(rate.sustained());
}

/// Over the steps, the first left out where there are more; NaN without any.
double median_tokens_per_second(const History& history) {
  std::vector<double> rates = history.values(&StepRecord::tokens_per_second);
  if (rates.empty()) return nan_value;
  if (rates.size() > 1) rates.erase(rates.begin());
  return median(std::move(rates));
}

/// What is known of the run that the history cannot say.
Attributes about(const MemberSettings& settings, const RunData& data, const Trainer& trainer,
                 double gemm_rate, const Communicator& comm) {
  Attributes a = run_attributes(settings, data, trainer.model(), comm);
  a.set("status", "running").set("gemm_gflops", gemm_rate * 1e-9);
  const bool known = data.validation != nullptr;
  a.set("validation_unigram_nats",
        known ? unigram_nats(data, settings.validation.tokens, trainer.model().shape().context)
              : nan_value);
  return a;
}

/// One member's run: what happens between its steps and at its end.
class Run {
 public:
  Run(const MemberSettings& settings, const RunData& data, const Communicator& comm,
      Console& console)
      : settings_(settings),
        data_(data),
        comm_(comm),
        console_(console),
        trainer_(settings, data, comm),
        gemm_rate_(gemm_rate_of_all(settings, trainer_.model().shape(), comm)),
        files_(settings.directory, about(settings, data, trainer_, gemm_rate_, comm), comm) {
    if (data.validation) {
      evaluator_.emplace(settings.validation, settings.batch, settings.data.batch_options(), data,
                         comm, trainer_.model());
      evaluation_.every = settings.validation.every;
    }
  }

  void go_on(const std::string& checkpoint) {
    restart(trainer_, checkpoint, settings_, data_, comm_, console_);
    checkpoint_.last = trainer_.done();
    const std::vector<Index>& evaluated = trainer_.history().values(&ValidationRow::step);
    if (!evaluated.empty()) evaluation_.last = evaluated.back();
  }

  Outcome train(const Clock& wall_clock, std::optional<double> wall_limit) {
    hold_stop_signals();
    if (trainer_.finished()) console_.line("all steps are done already");
    Stop stop(comm_, settings_.directory, wall_clock, wall_limit);
    const StepLines lines(console_, settings_.run.steps, settings_.run.log_every,
                          trainer_.flops_per_token(), gemm_rate_);
    try {
      go(stop, lines);
    } catch (const NotFinite& found) {
      end_on(found);
    } catch (const Error& error) {
      // On all ranks: what is not finite is asked together.
      if (error.status() == Status::numerical) {
        files_.write_history(trainer_.history(), "stopped");
      }
      throw;
    }
    return outcome();
  }

 private:
  void go(Stop& stop, const StepLines& lines) {
    trainer_.train(
        {&evaluation_, &geometry_, &checkpoint_}, [&] { write_output(stop); }, stop, lines);
    if (trainer_.finished()) {
      finish();
    } else {
      files_.write_history(trainer_.history(), "stopped");
      console_.line("terminated on " + stop.why() + "; restart with -r latest");
    }
  }

  void evaluate(Index step) {
    const Evaluation e = evaluator_->run(ExecSpace());
    if (!e.finite()) end_on(step, e.loss());
    append(trainer_.history(), e, step, step * settings_.batch.tokens);
    console_.line("validation step=" + std::to_string(step) + " loss=" + format_fixed(e.loss(), 4) +
                  " nats/token perplexity=" + perplexity_text(e.loss(), 2) + " (" +
                  format_count(e.targets) + " targets)");
    if (step > 0 && !trainer_.finished()) files_.write_history(trainer_.history(), "running");
  }

  void write_output(const Stop& stop) {
    checkpoint_.run(trainer_.done());
    files_.write_history(trainer_.history(), "running");
    files_.write_embedding(trainer_.model(), "running");
    stop.output_is_there();
    console_.line("output_now: wrote checkpoint, history and embedding of step " +
                  std::to_string(trainer_.done()));
  }

  /// The last evaluation, the checkpoint that has it, and the files for analysis.
  void finish() {
    if (evaluator_ && evaluation_.run(trainer_.done())) checkpoint_.last = -1;
    checkpoint_.run(trainer_.done());
    // The history comes last: where it says "finished", a run that is started again has nothing to
    // do; where it does not, a kill came between the checkpoint and these files.
    if (files_.finished_at(trainer_.done())) return;
    files_.write_embedding(trainer_.model(), "finished");
    files_.write_history(trainer_.history(), "finished");
  }

  [[nodiscard]] std::string last_checkpoint() const {
    return checkpoint_.last < 0
               ? ", no checkpoint was written yet"
               : ", the last checkpoint is of step " + std::to_string(checkpoint_.last);
  }

  /// The steps up to here were numbers, and what the model computes after them is not.
  [[noreturn]] void end_on(Index step, double validation_loss) {
    fail(Status::numerical, "the validation loss is " + format_real(validation_loss) + " at step " +
                                std::to_string(step) + last_checkpoint() +
                                (step > 0 ? "; lower optimizer.learning_rate or optimizer.clip_norm"
                                          : "; lower transformer.init_deviation"));
  }

  [[noreturn]] void end_on(const NotFinite& found) {
    std::string line = found.what() + last_checkpoint();
    comm_.on_root([&] {
      try {
        line += ", details are in " + files_.write_post_mortem(found, trainer_.history());
      } catch (const Error& error) {  // what cannot be written must not hide why the run ends
        line += std::string(" (and: ") + error.what() + ")";
      }
    });
    fail(Status::numerical, line + "; lower optimizer.learning_rate or optimizer.clip_norm");
  }

  Outcome outcome() const {
    const std::vector<double>& losses = trainer_.history().values(&ValidationRow::loss);
    return {trainer_.finished(),
            true,
            losses.empty() ? nan_value : losses.back(),
            evaluator_ ? evaluator_->targets() : 0,
            median_tokens_per_second(trainer_.history()),
            trainer_.model().parameters().count()};
  }

  const MemberSettings& settings_;
  const RunData& data_;
  const Communicator& comm_;
  Console& console_;
  Trainer trainer_;
  double gemm_rate_;  // of all ranks, FLOP/s; NaN: not measured
  RunFiles files_;
  std::optional<Evaluator<float>> evaluator_;  // where there are validation tokens

  Periodic evaluation_ = {.act = [this](Index step) { evaluate(step); }, .before_first = true};
  Periodic geometry_ = {.every = settings_.geometry.every,
                        .act =
                            [this](Index step) {
                              measure_geometry(trainer_.model(), comm_, step,
                                               step * settings_.batch.tokens, trainer_.history());
                            },
                        .before_first = true,
                        .after_last = true};
  Periodic checkpoint_ = {
      .every = settings_.checkpoint.every,
      .act = [this](Index) { save_checkpoint(settings_, data_, trainer_, comm_); },
      .before_stop = true,
      .seconds = checkpoint_estimate(trainer_.model())};
};

class TrainJob final : public ModelJob {
 public:
  using ModelJob::ModelJob;
  Outcome run(const JobContext& context) override;
  void check_restart(const Arguments& arguments) const override;
};

void TrainJob::check_restart(const Arguments& arguments) const {
  const std::string& path = arguments.restart;
  if (path.empty() || path == "latest") return;
  Console silent(false);
  lexikos::check_restart(read_checkpoint_header(path), path, settings_, {}, silent);
}

Outcome TrainJob::run(const JobContext& context) {
  const auto& [arguments, comm, console, since_start] = context;
  if (!settings_.member.empty()) console.line("member " + settings_.member);
  const std::string checkpoint =
      checkpoint_for(arguments.restart, settings_.directory, comm, console);
  if (checkpoint.empty()) refuse_old_files(settings_.directory, comm);
  const RunData data = open_data(settings_.data, settings_.seed, comm);
  for (const std::string& line : data_lines(data, settings_.model.transformer.context)) {
    console.line(line);
  }
  Run run(settings_, data, comm, console);
  if (!checkpoint.empty()) run.go_on(checkpoint);
  std::optional<double> limit;
  if (arguments.wall_limit) limit = static_cast<double>(*arguments.wall_limit);
  return run.train(since_start, limit);
}

}  // namespace

std::unique_ptr<Job> read_train(JobDeck& from) {
  return std::make_unique<TrainJob>(read_member(from));
}

}  // namespace lexikos

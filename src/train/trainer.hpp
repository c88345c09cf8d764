// Trains one model: the life of a step, evaluation, checkpoints and the files of a run.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "console/console.hpp"
#include "data/batches/step_batch.hpp"
#include "data/open_data.hpp"
#include "model.hpp"
#include "outputs/checkpoint.hpp"
#include "outputs/history.hpp"
#include "parallel/communicator.hpp"
#include "parallel/gradient_reducer.hpp"
#include "parallel/slice_gatherer.hpp"
#include "train/evaluator.hpp"
#include "train/gemm_rate.hpp"
#include "train/member_settings.hpp"
#include "train/spike_guard.hpp"
#include "train/step_record.hpp"

namespace lexikos {

/// How a member's training ended.
struct Outcome {
  bool finished = false;       // false: the wall limit or a signal came first
  double validation_loss = 0;  // nats per token, of the last evaluation
  Index validation_targets = 0;
  double tokens_per_second = 0;  // median over steps, the first left out
  Index parameters_trainable = 0;
};

/// What was asked of a run between two steps; the same on every rank.
struct Request {
  int signal = 0;            // to stop, because of this signal
  bool out_of_time = false;  // to stop, because of the wall limit
  bool dump = false;         // to write all files now
  bool stop() const { return signal != 0 || out_of_time; }
};

class Trainer {
 public:
  /// Collective over `comm`; allocates everything a run needs.
  Trainer(const MemberSettings& settings, RunData data, const Communicator& comm, Console& console);

  /// Goes on from a checkpoint file. Throws Error(file).
  void restart(const std::string& path, SealCheck seal = SealCheck::needed);

  /// Trains to the last step; or ends between two steps, with a checkpoint, where a stop signal has
  /// come (train/stop_signal.hpp) or a checkpoint would not fit any more into what is left of
  /// wall_limit seconds on `wall_clock`. A file `output_now` in the member's folder asks for a
  /// checkpoint, history and embedding file; it is removed when they are there.
  Outcome train(const Clock& wall_clock, std::optional<double> wall_limit);

  /// One optimizer step, number 1 .. steps. Throws Error(numerical) before the update where the
  /// loss or the gradient is not finite, after writing postmortem_<step>.h5. Leaves the update out
  /// where the spike guard says so.
  StepRecord step(Index number);

  /// FLOP of training one token.
  double flops_per_token() const;
  const Model<float>& model() const { return model_; }
  Index done() const { return done_; }

 private:
  [[noreturn]] void stop_at(const StepRecord& r, const StepBatch& batch);
  void evaluate();
  void report(const StepRecord& r);
  void save_checkpoint();
  void save_history(const std::string& status);
  void save_embedding(const std::string& status);
  void dump();
  double seconds_to_stop() const;
  Request request(const Clock& wall_clock, std::optional<double> wall_limit);
  void finish_files();
  Attributes attributes(const std::string& status) const;
  double median_tokens_per_second() const;

  MemberSettings settings_;
  RunData data_;
  const Communicator& comm_;
  Console& console_;
  Model<float> model_;
  BatchLoader loader_;
  std::optional<Evaluator<float>> evaluator_;
  std::unique_ptr<GradientReducer<float>> reducer_;
  std::unique_ptr<SliceGatherer<float>> gatherer_;  // null: every rank updates all parameters
  Buffer<double> sums_;  // of this rank's nll, and the squared gradient norm
  History history_;
  SpikeGuard guard_;
  ExecSpace space_;
  GemmRate gemm_rate_;
  double gemm_rate_of_all_;  // sum of the ranks' sustained ones, FLOP/s; NaN: not measured
  double unigram_nats_;
  Index done_ = 0;            // steps
  double train_seconds_ = 0;  // of all steps
  double step_seconds_ = 0;   // of the last of each
  double evaluation_seconds_ = 0;
  double checkpoint_seconds_ = 0;  // at first an estimate
  Clock since_look_;               // for the file output_now
  std::string why_stopped_;
  Index last_checkpoint_ = -1;  // step
  Outcome outcome_;
};

}  // namespace lexikos

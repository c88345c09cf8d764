// Trains one model: the life of a step, and the loop over steps.
#pragma once

#include <memory>
#include <vector>

#include "data/batches/step_batch.hpp"
#include "data/open_data.hpp"
#include "model.hpp"
#include "outputs/history.hpp"
#include "parallel/communicator.hpp"
#include "parallel/gradient_reducer.hpp"
#include "parallel/slice_gatherer.hpp"
#include "train/periodic.hpp"
#include "train/settings.hpp"
#include "train/spike_guard.hpp"
#include "train/step_lines.hpp"
#include "train/step_record.hpp"
#include "train/stop.hpp"

namespace lexikos {

class Trainer {
 public:
  /// Collective over `comm`; allocates everything that a step needs. `data` and `comm` must outlive
  /// this object.
  Trainer(const MemberSettings& settings, const RunData& data, const Communicator& comm);

  /// Goes on after `step` steps, whose state model() and history() hold already.
  void go_on_after(Index step);

  /// Trains from where it is to the last step, or until `stop` says so between two steps. After
  /// each step its row goes into history() and to `lines`, then what is due of `between` is done in
  /// its order, then `stop` is asked; `output_now` is done where it is wanted. Collective.
  void train(const std::vector<Periodic*>& between, const std::function<void()>& output_now,
             Stop& stop, const StepLines& lines);

  /// One optimizer step, number 1 .. steps. Throws NotFinite before the update where the loss or
  /// the gradient is not finite. Leaves the update out where the spike guard says so. Collective.
  StepRecord step(Index number);

  /// FLOP of training one token.
  double flops_per_token() const;
  const Model<float>& model() const { return model_; }
  Model<float>& model() { return model_; }
  const History& history() const { return history_; }
  History& history() { return history_; }
  /// Steps, and whether they are all.
  Index done() const { return done_; }
  bool finished() const { return done_ == settings_.run.steps; }

 private:
  void update(StepRecord& r);
  double seconds_to_stop(const std::vector<Periodic*>& between, double step_seconds) const;

  MemberSettings settings_;
  const Communicator& comm_;
  Model<float> model_;
  BatchLoader loader_;
  std::unique_ptr<GradientReducer<float>> reducer_;
  std::unique_ptr<SliceGatherer<float>> gatherer_;  // null: every rank updates all parameters
  Buffer<double> sums_;  // of this rank's nll, and the squared gradient norm
  History history_;
  SpikeGuard guard_;
  ExecSpace space_;
  Index done_ = 0;            // steps
  double train_seconds_ = 0;  // of all steps
};

}  // namespace lexikos

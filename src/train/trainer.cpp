#include "train/trainer.hpp"

#include <cmath>

#include "optim/adamw.hpp"
#include "train/plan.hpp"
#include "train/post_mortem.hpp"
#include "train/run_history.hpp"

namespace lexikos {
namespace {

void zero_gradients(const ExecSpace& space, const Parameters<float>& parameters) {
  const Region region("Lexikos::trainer::zero_gradients",
                      {.bytes = bytes_of(parameters.gradients())});
  Kokkos::deep_copy(space, parameters.gradients(), 0.0f);
}

DeviceSum element(const Buffer<double>& sums, Index i) { return DeviceSum(sums.data() + i); }

}  // namespace

Trainer::Trainer(const MemberSettings& settings, const RunData& data, const Communicator& comm)
    : settings_(settings),
      comm_(comm),
      model_(settings.model, settings.sizes(data.vocabulary, comm.size())),
      loader_(data.weighted_sources(),
              {.T = model_.shape().context,
               .sequences = settings.batch.sequences,
               .micro_sequences = model_.shape().micro_batch,
               .rank = comm.rank(),
               .ranks = comm.size()},
              settings.seed, settings.data.batch_options()),
      sums_("Lexikos::trainer::sums", 2),
      history_(run_history()),
      guard_(settings.spike_guard) {
  const bool shard = settings_.parallel.shard_optimizer;
  comm_.on_all(
      [&] { model_.allocate(settings_.seed, shard ? comm_.rank() : 0, shard ? comm_.size() : 1); });
  for (const MeasuredColumn& column : model_.columns()) history_.extend<StepRecord>(column);
  reducer_ = std::make_unique<GradientReducer<float>>(comm_, settings_.parallel,
                                                      model_.parameters().gradients());
  if (shard) {
    gatherer_ = std::make_unique<SliceGatherer<float>>(comm_, settings_.parallel,
                                                       model_.parameters().values());
  }
}

double Trainer::flops_per_token() const { return lexikos::flops_per_token(model_); }

void Trainer::go_on_after(Index step) {
  done_ = step;
  const std::vector<double>& seconds = history_.values(&StepRecord::train_seconds);
  train_seconds_ = seconds.empty() ? 0.0 : seconds.back();
  guard_.restart(history_);
}

StepRecord Trainer::step(Index number) {
  const Kokkos::Timer timer;
  const StepBatch* batch = nullptr;
  {
    const Region region("Lexikos::trainer::data");
    comm_.on_all([&] { batch = &loader_.load(number - 1); });
  }
  StepRecord r;
  r.step = number;
  r.tokens = number * settings_.batch.tokens;
  r.data_seconds = timer.seconds();
  r.learning_rate = settings_.schedule.at(number);
  zero_gradients(space_, model_.parameters());
  model_.forward_backward(space_, *batch, reducer_.get(), element(sums_, 0));
  {
    const Region region("Lexikos::trainer::reduce");
    reducer_->finish(space_);
  }
  squared_norm<float>(space_, model_.parameters().gradients(), element(sums_, 1));

  // The one transfer of a step: the update must not happen where these are not finite.
  const auto sums = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), sums_);
  r.loss = comm_.sum(sums(0)) / static_cast<double>(batch->targets_global);
  r.gradient_norm = std::sqrt(sums(1));
  if (!std::isfinite(r.loss) || !std::isfinite(r.gradient_norm)) {
    throw NotFinite(r, examine(space_, model_, *batch, loader_, number, comm_));
  }
  update(r);
  space_.fence();
  r.seconds = timer.seconds();
  r.tokens_per_second = static_cast<double>(settings_.batch.tokens) / r.seconds;
  train_seconds_ += r.seconds;
  r.train_seconds = train_seconds_;
  done_ = number;
  return r;
}

/// Moves the parameters, unless the spike guard leaves this step out.
void Trainer::update(StepRecord& r) {
  if (guard_.skips(history_, r.loss, r.gradient_norm)) {
    r.skipped = 1;
    return;
  }
  // The moments count the updates there were: their start-up correction does too.
  adamw_update<float>(space_, settings_.adamw, r.learning_rate, r.step - guard_.skipped(),
                      clip_scale(settings_.adamw, r.gradient_norm), model_.parameters());
  if (gatherer_) gatherer_->gather(space_);
}

/// Of one more step, what it brings with it, and what is done where the run stops, should that take
/// longer than it did.
double Trainer::seconds_to_stop(const std::vector<Periodic*>& between, double step_seconds) const {
  double seconds = step_seconds;
  for (const Periodic* p : between) {
    if (p->before_stop) {
      seconds += 1.5 * p->seconds;
    } else if (p->due(done_ + 1)) {
      seconds += p->seconds;
    }
  }
  return seconds;
}

void Trainer::train(const std::vector<Periodic*>& between, const std::function<void()>& output_now,
                    Stop& stop, const StepLines& lines) {
  if (done_ == 0) {
    for (Periodic* p : between) {
      if (p->before_first && p->due(0)) p->run(0);
    }
  }
  while (!finished() && !stop.stops()) {
    const StepRecord r = step(done_ + 1);
    history_.append(r);
    lines.print(r);
    for (Periodic* p : between) {
      if (p->due(done_) && (!finished() || p->after_last)) p->run(done_);
    }
    stop.ask(seconds_to_stop(between, r.seconds));
    if (stop.wants_output()) output_now();
  }
  if (finished()) return;
  for (Periodic* p : between) {
    if (p->before_stop) p->run(done_);
  }
}

}  // namespace lexikos

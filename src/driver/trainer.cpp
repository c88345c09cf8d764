#include "driver/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "driver/checkpoint_use.hpp"
#include "driver/configuration.hpp"
#include "driver/member_files.hpp"
#include "driver/run_attributes.hpp"
#include "driver/tables.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

DeviceSum element(const Buffer<double>& sums, Index i) { return DeviceSum(sums.data() + i); }

}  // namespace

template <class S>
Trainer<S>::Trainer(const MemberSettings<S>& settings, RunData data, const Communicator& comm,
                    Console& console)
    : settings_(settings),
      data_(std::move(data)),
      comm_(comm),
      console_(console),
      model_(settings.model, settings.sizes(data_.vocabulary, comm.size())),
      loader_(*data_.train, model_.shape().context, settings.run.batch_sequences, comm.rank(),
              comm.size(), model_.shape().micro_batch, settings.run.seed),
      sums_("Lexikos::trainer::sums", 2),
      gemm_rate_of_all_(nan_value),
      unigram_nats_(nan_value) {
  comm_.on_all([&] { model_.allocate(settings_.run.seed); });
  reducer_ = std::make_unique<GradientReducer<S>>(comm_, settings_.parallel,
                                                  model_.parameters().gradients());
  if (data_.validation) {
    evaluator_.emplace(settings_.run, data_, comm_, model_);
    outcome_.validation_targets = evaluator_->targets();
    unigram_nats_ = unigram_nats(settings_.run, data_, model_.shape().context);
  }
  if (settings_.run.gemm_rate) {
    const Index positions = std::max<Index>(1, model_.shape().positions());
    gemm_rate_ = measure_gemm_rate<S>(step_products(settings_.model.transformer, data_.vocabulary,
                                                    settings_.model.head.chunk, positions));
    gemm_rate_of_all_ = comm_.sum(gemm_rate_.sustained());
  }
}

template <class S>
double Trainer<S>::flops_per_token() const {
  return lexikos::flops_per_token(model_);
}

template <class S>
void Trainer<S>::restart(const std::string& path) {
  CheckpointHeader header;
  comm_.on_all([&] {
    header = load_state(path, model_.parameters(), history_);
    check_checkpoint(header, path, settings_.resolved_deck, data_);
  });
  done_ = header.step;
  last_checkpoint_ = header.step;
  if (done_ > settings_.run.steps) {
    fail(Status::deck, "'" + path + "' is at step " + std::to_string(done_) +
                           ", past run.steps = " + std::to_string(settings_.run.steps));
  }
  const auto& seconds =
      std::get<std::vector<double>>(history_.column("history", "seconds").values);
  train_seconds_ = seconds.empty() ? 0.0 : seconds.back();
  const auto& losses = std::get<std::vector<double>>(history_.column("validation", "loss").values);
  if (!losses.empty()) outcome_.validation_loss = losses.back();
  console_.line("restart from " + path + ", step " + std::to_string(done_));
}

template <class S>
StepRecord Trainer<S>::step(Index number) {
  const Kokkos::Timer timer;
  const StepBatch* batch = nullptr;
  comm_.on_all([&] { batch = &loader_.load(number - 1); });
  const Parameters<S>& parameters = model_.parameters();
  Kokkos::deep_copy(space_, parameters.gradients(), S(0));

  model_.forward_backward(space_, *batch, reducer_.get(), element(sums_, 0));
  reducer_->finish(space_);
  squared_norm<S>(space_, parameters.gradients(), element(sums_, 1));

  // The one transfer of a step: the update must not happen where these are not finite.
  const auto sums = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), sums_);
  StepRecord r;
  r.step = number;
  r.loss = comm_.sum(sums(0)) / static_cast<double>(batch->targets_global);
  r.gradient_norm = std::sqrt(sums(1));
  r.learning_rate = settings_.schedule.at(number);
  if (!std::isfinite(r.loss) || !std::isfinite(r.gradient_norm)) {
    save_history("stopped");
    fail(Status::numerical,
         (std::isfinite(r.loss) ? "the gradient" : "the loss") + std::string(" is not finite at step ") +
             std::to_string(number) + "; stopped before the update, " +
             (last_checkpoint_ < 0 ? "no checkpoint was written yet"
                                   : "the last checkpoint is of step " +
                                         std::to_string(last_checkpoint_)) +
             "; lower optimizer.learning_rate or optimizer.clip_norm");
  }

  adamw_update<S>(space_, settings_.adamw, r.learning_rate, number,
                  clip_scale(settings_.adamw, r.gradient_norm), parameters);
  space_.fence();
  r.seconds = timer.seconds();
  done_ = number;
  train_seconds_ += r.seconds;
  return r;
}

template <class S>
void Trainer<S>::evaluate() {
  if (!evaluator_) return;
  const Evaluation e = evaluator_->run(space_);
  outcome_.validation_loss = e.loss();
  append(history_, e, done_, done_ * settings_.run.batch_tokens);
  char text[160];
  std::snprintf(text, sizeof text, "validation step=%lld loss=%.4f nats/token perplexity=%.2f (%s targets)",
                static_cast<long long>(done_), e.loss(), std::exp(e.loss()),
                format_count(e.targets).c_str());
  console_.line(text);
}

template <class S>
void Trainer<S>::record(const StepRecord& r) {
  const Index tokens = r.step * settings_.run.batch_tokens;
  history_.append("history", {r.step, tokens, r.loss, r.learning_rate, r.gradient_norm,
                              train_seconds_, settings_.run.batch_tokens / r.seconds});
}

template <class S>
void Trainer<S>::report(const StepRecord& r) {
  const RunSettings& run = settings_.run;
  if (r.step % run.log_every == 0 || r.step == run.steps || r.step == 1) {
    StepLine line;
    line.step = r.step;
    line.steps = run.steps;
    line.tokens = r.step * run.batch_tokens;
    line.loss = r.loss;
    line.learning_rate = r.learning_rate;
    line.gradient_norm = r.gradient_norm;
    line.tokens_per_second = run.batch_tokens / r.seconds;
    line.gemm_share = flops_per_token() * line.tokens_per_second / gemm_rate_of_all_;
    console_.step(line);
  }
  console_.progress(r.step, run.steps, train_seconds_);
}

template <class S>
Outcome Trainer<S>::train(const Clock& wall_clock, std::optional<double> wall_limit) {
  const RunSettings& run = settings_.run;
  const auto due = [&](Index every) { return every > 0 && done_ % every == 0; };
  comm_.on_root([&] { make_directory(settings_.directory); });
  if (done_ == 0 && run.validation_every > 0) evaluate();
  bool out_of_time = false;
  while (done_ < run.steps && !out_of_time) {
    const StepRecord r = step(done_ + 1);
    record(r);
    report(r);
    if (due(run.validation_every) && done_ < run.steps) {
      evaluate();
      save_history("running");
    }
    // All ranks must leave at the same step, so the root's clock decides.
    out_of_time = wall_limit && comm_.max(comm_.is_root() && wall_clock.seconds() > *wall_limit) > 0;
    if (due(run.checkpoint_every) && done_ < run.steps && !out_of_time) save_checkpoint();
  }
  outcome_.finished = done_ == run.steps;
  outcome_.parameters_trainable = model_.list().count();
  outcome_.tokens_per_second = median_tokens_per_second();
  finish_files();
  return outcome_;
}

template <class S>
void Trainer<S>::finish_files() {
  if (last_checkpoint_ == done_) return;  // a restart of what was done already
  if (!outcome_.finished) {
    save_checkpoint();
    save_history("stopped");
    console_.line("terminated on wall-time limit; restart with -r latest");
    return;
  }
  evaluate();
  save_checkpoint();
  save_embedding();
  save_history("finished");
}

template <class S>
double Trainer<S>::median_tokens_per_second() const {
  std::vector<double> rates =
      std::get<std::vector<double>>(history_.column("history", "tokens_per_second").values);
  if (rates.empty()) return nan_value;
  if (rates.size() > 1) rates.erase(rates.begin());
  std::nth_element(rates.begin(), rates.begin() + rates.size() / 2, rates.end());
  return rates[rates.size() / 2];
}

template <class S>
Attributes Trainer<S>::attributes(const std::string& status) const {
  Attributes a = run_attributes(settings_, data_, model_, comm_);
  a.set("status", status);
  a.set("gemm_gflops", gemm_rate_of_all_ * 1e-9);
  a.set("validation_unigram_nats", unigram_nats_);
  return a;
}

template <class S>
void Trainer<S>::save_history(const std::string& status) {
  comm_.on_root([&] { history_.write(settings_.directory + "/history.h5", attributes(status)); });
}

template <class S>
void Trainer<S>::save_checkpoint() {
  CheckpointHeader header;
  header.step = done_;
  header.tokens = done_ * settings_.run.batch_tokens;
  header.seed = static_cast<std::int64_t>(settings_.run.seed);
  header.deck = settings_.resolved_deck;
  header.code_version = code_version();
  header.member = settings_.member;
  header.other.set("tokenizer", data_.tokenizer).set("tokenizer_hash", data_.tokenizer_hash);
  comm_.on_root([&] {
    save_state(settings_.directory, header, model_.parameters(), history_);
    prune_checkpoints(settings_.directory, settings_.run.checkpoint_keep);
  });
  last_checkpoint_ = done_;
}

template <class S>
void Trainer<S>::save_embedding() {
  comm_.on_root([&] {
    save_embedding_file(settings_.directory + "/embedding.h5", attributes("finished"), model_);
  });
}

template class Trainer<float>;
template class Trainer<double>;

}  // namespace lexikos

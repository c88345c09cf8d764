#include "train/trainer.hpp"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>

#include "console/configuration.hpp"
#include "outputs/provenance.hpp"
#include "train/checkpoint_use.hpp"
#include "train/geometry.hpp"
#include "train/member_files.hpp"
#include "train/post_mortem.hpp"
#include "train/run_history.hpp"
#include "train/stop_signal.hpp"
#include "train/tables.hpp"
#include "utils/median.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

/// The file in a run's folder that asks for output.
constexpr const char* output_now = "output_now";

/// Bytes a second that a file system surely takes: until a checkpoint was timed.
constexpr double slow_disk = 1e8;

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

/// True where history.h5 says that its run is finished, at this step.
bool history_is_finished(const std::string& folder, Index step) {
  try {
    const Hdf5Reader file(folder + "/history.h5");
    const auto steps = file.read<std::int64_t>("/history/step");
    return file.text("/", "status") == "finished" && !steps.empty() && steps.back() == step;
  } catch (const Error&) {
    return false;  // none, or none that can be read: it is written anew
  }
}

void zero_gradients(const ExecSpace& space, const Parameters<float>& parameters) {
  const Region region("Lexikos::trainer::zero_gradients",
                      {.bytes = bytes_of(parameters.gradients())});
  Kokkos::deep_copy(space, parameters.gradients(), 0.0f);
}

DeviceSum element(const Buffer<double>& sums, Index i) { return DeviceSum(sums.data() + i); }

}  // namespace

Trainer::Trainer(const MemberSettings& settings, RunData data, const Communicator& comm,
                 Console& console)
    : settings_(settings),
      data_(std::move(data)),
      comm_(comm),
      console_(console),
      model_(settings.model, settings.sizes(data_.vocabulary, comm.size())),
      loader_(data_.weighted_sources(), model_.shape().context, settings.run.batch_sequences,
              comm.rank(), comm.size(), model_.shape().micro_batch, settings.run.seed,
              settings.run.data.batch_options()),
      sums_("Lexikos::trainer::sums", 2),
      history_(run_history()),
      guard_(settings.spike_guard),
      gemm_rate_of_all_(nan_value),
      unigram_nats_(nan_value) {
  const bool shard = settings_.parallel.shard_optimizer;
  comm_.on_all([&] {
    model_.allocate(settings_.run.seed, shard ? comm_.rank() : 0, shard ? comm_.size() : 1);
  });
  for (const MeasuredColumn& column : model_.columns()) history_.extend<StepRecord>(column);
  reducer_ = std::make_unique<GradientReducer<float>>(comm_, settings_.parallel,
                                                      model_.parameters().gradients());
  if (shard) {
    gatherer_ = std::make_unique<SliceGatherer<float>>(comm_, settings_.parallel,
                                                       model_.parameters().values());
  }
  if (data_.validation) {
    evaluator_.emplace(settings_.run, data_, comm_, model_);
    outcome_.validation_targets = evaluator_->targets();
    unigram_nats_ = unigram_nats(settings_.run, data_, model_.shape().context);
  }
  checkpoint_seconds_ =
      3.0 * static_cast<double>(model_.list().arena_size()) * sizeof(float) / slow_disk;
  if (settings_.run.gemm_rate) {
    const Index positions = std::max<Index>(1, model_.shape().positions());
    const auto products = step_products(settings_.model.transformer, data_.vocabulary,
                                        settings_.model.head.chunk, positions);
    gemm_rate_ = settings_.model.execution.compute == Compute::bf16
                     ? measure_gemm_rate<Bf16>(products)
                     : measure_gemm_rate<float>(products);
    gemm_rate_of_all_ = comm_.sum(gemm_rate_.sustained());
  }
}

double Trainer::flops_per_token() const { return lexikos::flops_per_token(model_); }

void Trainer::restart(const std::string& path, SealCheck seal) {
  CheckpointHeader header;
  comm_.on_all([&] {
    header = load_state(path, model_.parameters(), history_, seal);
    check_checkpoint(header, path, settings_.resolved_deck, data_);
    check_data_order(header, path, settings_.resolved_deck, settings_.run.data.allow_changed,
                     console_);
    check_token_files(header, path, data_, settings_.run.data.allow_changed, console_);
  });
  done_ = header.step;
  last_checkpoint_ = header.step;
  if (done_ > settings_.run.steps) {
    fail(Status::deck, "'" + path + "' is at step " + std::to_string(done_) +
                           ", past run.steps = " + std::to_string(settings_.run.steps));
  }
  const auto& seconds = history_.values(&StepRecord::train_seconds);
  train_seconds_ = seconds.empty() ? 0.0 : seconds.back();
  const auto& losses = history_.values(&ValidationRow::loss);
  if (!losses.empty()) outcome_.validation_loss = losses.back();
  guard_.restart(history_);
  console_.line("restart from " + path + ", step " + std::to_string(done_));
}

StepRecord Trainer::step(Index number) {
  const Kokkos::Timer timer;
  const StepBatch* batch = nullptr;
  {
    const Region region("Lexikos::trainer::data");
    comm_.on_all([&] { batch = &loader_.load(number - 1); });
  }
  const double data_seconds = timer.seconds();
  const Parameters<float>& parameters = model_.parameters();
  zero_gradients(space_, parameters);

  model_.forward_backward(space_, *batch, reducer_.get(), element(sums_, 0));
  {
    const Region region("Lexikos::trainer::reduce");
    reducer_->finish(space_);
  }
  squared_norm<float>(space_, parameters.gradients(), element(sums_, 1));

  // The one transfer of a step: the update must not happen where these are not finite.
  const auto sums = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), sums_);
  StepRecord r;
  r.step = number;
  r.tokens = number * settings_.run.batch_tokens;
  r.data_seconds = data_seconds;
  r.loss = comm_.sum(sums(0)) / static_cast<double>(batch->targets_global);
  r.gradient_norm = std::sqrt(sums(1));
  r.learning_rate = settings_.schedule.at(number);
  if (!std::isfinite(r.loss) || !std::isfinite(r.gradient_norm)) stop_at(r, *batch);
  const bool skips = guard_.skips(history_, r.loss, r.gradient_norm);
  r.skipped = skips ? 1 : 0;
  if (!skips) {
    // The moments count the updates there were: their start-up correction does too.
    adamw_update<float>(space_, settings_.adamw, r.learning_rate, number - guard_.skipped(),
                        clip_scale(settings_.adamw, r.gradient_norm), parameters);
    if (gatherer_) gatherer_->gather(space_);
  }
  space_.fence();
  r.seconds = timer.seconds();
  r.tokens_per_second = static_cast<double>(settings_.run.batch_tokens) / r.seconds;
  done_ = number;
  train_seconds_ += r.seconds;
  r.train_seconds = train_seconds_;
  return r;
}

void Trainer::stop_at(const StepRecord& r, const StepBatch& batch) {
  const PostMortem found = examine(space_, model_, batch, loader_, r.step, comm_);
  std::string line = std::isfinite(r.loss) ? "the gradient" : "the loss";
  line += " is not finite at step " + std::to_string(r.step) + "; stopped before the update, ";
  line += last_checkpoint_ < 0
              ? "no checkpoint was written yet"
              : "the last checkpoint is of step " + std::to_string(last_checkpoint_);
  // What cannot be written must not hide why the run ends.
  comm_.on_root([&] {
    try {
      Attributes more = attributes("stopped");
      more.set("loss", r.loss).set("gradient_norm", r.gradient_norm);
      history_.write(settings_.directory + "/history.h5", history_format, attributes("stopped"));
      const std::string path = post_mortem_path(settings_.directory, r.step);
      write_post_mortem(path, more, found);
      line += ", details are in " + path;
    } catch (const Error& error) {
      line += std::string(" (and: ") + error.what() + ")";
    }
  });
  fail(Status::numerical, line + "; lower optimizer.learning_rate or optimizer.clip_norm");
}

void Trainer::evaluate() {
  if (!evaluator_) return;
  const Clock clock;
  const Evaluation e = evaluator_->run(space_);
  evaluation_seconds_ = clock.seconds();
  outcome_.validation_loss = e.loss();
  append(history_, e, done_, done_ * settings_.run.batch_tokens);
  char text[160];
  std::snprintf(
      text, sizeof text, "validation step=%lld loss=%.4f nats/token perplexity=%.2f (%s targets)",
      static_cast<long long>(done_), e.loss(), std::exp(e.loss()), format_count(e.targets).c_str());
  console_.line(text);
}

void Trainer::report(const StepRecord& r) {
  const RunSettings& run = settings_.run;
  if (r.step % run.log_every == 0 || r.step == run.steps || r.step == 1) {
    StepLine line;
    line.step = r.step;
    line.steps = run.steps;
    line.tokens = r.tokens;
    line.loss = r.loss;
    line.learning_rate = r.learning_rate;
    line.gradient_norm = r.gradient_norm;
    line.tokens_per_second = r.tokens_per_second;
    line.data_seconds = r.data_seconds;
    line.gemm_share = flops_per_token() * line.tokens_per_second / gemm_rate_of_all_;
    console_.step(line);
  }
  if (r.skipped > 0) {
    char text[160];
    std::snprintf(text, sizeof text, "step=%lld left out by the spike guard: loss=%.4f norm=%.2f",
                  static_cast<long long>(r.step), r.loss, r.gradient_norm);
    console_.line(text);
  }
  console_.progress(r.step, run.steps, train_seconds_);
}

double Trainer::seconds_to_stop() const {
  const Index every = settings_.run.validation_every;
  const bool evaluates = every > 0 && (done_ + 1) % every == 0;
  // One more step, what it brings with it, and a checkpoint that takes longer than the last.
  return step_seconds_ + (evaluates ? evaluation_seconds_ : 0.0) + 1.5 * checkpoint_seconds_;
}

Request Trainer::request(const Clock& wall_clock, std::optional<double> wall_limit) {
  std::vector<double> asked(3, 0.0);
  // All ranks must do the same, so the root's clock and folder decide; a signal may reach any rank.
  if (comm_.is_root()) {
    if (wall_limit && wall_clock.seconds() + seconds_to_stop() > *wall_limit) asked[0] = 1;
    if (since_look_.seconds() > 1.0) {  // file systems of clusters do not like to be asked often
      since_look_ = Clock();
      if (std::filesystem::exists(settings_.directory + "/" + output_now)) asked[1] = 1;
    }
  }
  asked[2] = stop_signal();
  comm_.max(asked);
  Request r;
  r.signal = static_cast<int>(asked[2]);
  r.out_of_time = asked[0] > 0;
  r.dump = asked[1] > 0;
  if (r.stop()) why_stopped_ = r.signal != 0 ? signal_name(r.signal) : "wall-time limit";
  return r;
}

void Trainer::dump() {
  save_checkpoint();
  save_history("running");
  save_embedding("running");
  comm_.on_root([&] { std::filesystem::remove(settings_.directory + "/" + output_now); });
  console_.line("output_now: wrote checkpoint, history and embedding of step " +
                std::to_string(done_));
}

Outcome Trainer::train(const Clock& wall_clock, std::optional<double> wall_limit) {
  const RunSettings& run = settings_.run;
  const auto due = [&](Index every) { return every > 0 && done_ % every == 0; };
  comm_.on_root([&] { make_directory(settings_.directory); });
  if (done_ == 0 && run.validation_every > 0) evaluate();
  if (done_ == 0 && run.geometry_every > 0)
    measure_geometry(model_, comm_, done_, done_ * run.batch_tokens, history_);
  bool stop = false;
  while (done_ < run.steps && !stop) {
    const StepRecord r = step(done_ + 1);
    step_seconds_ = r.seconds;
    history_.append(r);
    report(r);
    if (due(run.validation_every) && done_ < run.steps) {
      evaluate();
      save_history("running");
    }
    if (due(run.geometry_every))
      measure_geometry(model_, comm_, done_, done_ * run.batch_tokens, history_);
    const Request asked = request(wall_clock, wall_limit);
    stop = asked.stop();
    if (asked.dump) {
      dump();
    } else if (due(run.checkpoint_every) && done_ < run.steps && !stop) {
      save_checkpoint();
    }
  }
  outcome_.finished = done_ == run.steps;
  outcome_.parameters_trainable = model_.list().count();
  outcome_.tokens_per_second = median_tokens_per_second();
  finish_files();
  return outcome_;
}

void Trainer::finish_files() {
  if (!outcome_.finished) {
    if (last_checkpoint_ != done_) save_checkpoint();
    save_history("stopped");
    console_.line("terminated on " + why_stopped_ + "; restart with -r latest");
    return;
  }
  const auto& steps = history_.values(&ValidationRow::step);
  const bool evaluated = !evaluator_ || (!steps.empty() && steps.back() == done_);
  if (!evaluated || last_checkpoint_ != done_) {
    evaluate();
    save_checkpoint();
  }
  // The history comes last: where it says "finished", a job that is started again has nothing to
  // do; where it does not, a kill came between the checkpoint and these files.
  const bool there = comm_.is_root() && history_is_finished(settings_.directory, done_);
  if (comm_.max(there ? 1.0 : 0.0) > 0) return;
  save_embedding("finished");
  save_history("finished");
}

double Trainer::median_tokens_per_second() const {
  std::vector<double> rates = history_.values(&StepRecord::tokens_per_second);
  if (rates.empty()) return nan_value;
  if (rates.size() > 1) rates.erase(rates.begin());
  return median(std::move(rates));
}

Attributes Trainer::attributes(const std::string& status) const {
  Attributes a = run_attributes(settings_, data_, model_, comm_);
  a.set("status", status);
  a.set("gemm_gflops", gemm_rate_of_all_ * 1e-9);
  a.set("validation_unigram_nats", unigram_nats_);
  return a;
}

void Trainer::save_history(const std::string& status) {
  comm_.on_root([&] {
    history_.write(settings_.directory + "/history.h5", history_format, attributes(status));
  });
}

void Trainer::save_checkpoint() {
  CheckpointHeader header;
  header.step = done_;
  header.tokens = done_ * settings_.run.batch_tokens;
  header.seed = static_cast<std::int64_t>(settings_.run.seed);
  header.deck = settings_.resolved_deck;
  header.code_version = code_version();
  header.member = settings_.member;
  header.other.set("tokenizer", data_.tokenizer).set("tokenizer_hash", data_.tokenizer_hash);
  header.other.set(fingerprint_attribute, data_.fingerprint);
  header.other.set("end_of_text", data_.end_of_text);
  const Clock clock;
  save_shared_state(comm_, settings_.directory, header, model_.parameters(), history_);
  comm_.on_root([&] { prune_checkpoints(settings_.directory, settings_.run.retention); });
  checkpoint_seconds_ = clock.seconds();
  last_checkpoint_ = done_;
}

void Trainer::save_embedding(const std::string& status) {
  comm_.on_root([&] {
    save_embedding_file(settings_.directory + "/embedding.h5", attributes(status), model_);
  });
}

}  // namespace lexikos

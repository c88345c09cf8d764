#include "jobs/tasks/score_tasks.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>

#include "data/requests/requests_file.hpp"
#include "hdf5/file.hpp"
#include "jobs/tasks/request_scorer.hpp"
#include "jobs/tasks/task_metrics.hpp"
#include "jobs/tasks/tasks_file.hpp"
#include "train/provenance.hpp"
#include "train/checkpoint_use.hpp"
#include "train/member_files.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

/// V of a checkpoint's model.
Index stored_vocabulary(const std::string& checkpoint) {
  return Hdf5Reader(checkpoint, "name a checkpoint with -r")
      .info("/parameters/head.weight")
      .shape.at(0);
}

/// What is known without a tokens file, which a machine that only evaluates need not have.
RunData data_of(const RunSettings& run, const Requests& requests, const std::string& checkpoint) {
  RunData data;
  data.vocabulary =
      run.data.vocabulary_size > 0 ? run.data.vocabulary_size : stored_vocabulary(checkpoint);
  data.tokenizer = requests.tokenizer;
  data.tokenizer_hash = requests.tokenizer_hash;
  data.source = requests.path;
  return data;
}

std::string short_hash(const std::string& hash) { return hash.substr(0, 12); }

void check_tokenizer(const CheckpointHeader& header, const std::string& path,
                     const Requests& requests) {
  if (!header.other.has("tokenizer_hash")) return;
  const std::string then = header.other.text("tokenizer_hash");
  if (then.empty() || requests.tokenizer_hash.empty() || then == requests.tokenizer_hash) return;
  fail(Status::file, "'" + path + "' was trained on tokens of another tokenizer (SHA-256 " +
                         short_hash(then) + ") than evaluate.requests = '" + requests.path + "' (" +
                         requests.tokenizer + ", " + short_hash(requests.tokenizer_hash) +
                         "); prepare the requests with --tokens and its tokens file");
}

std::string definition() {
  return "log_likelihood: nats, summed over the ids of a request's continuation, each predicted "
         "from the ids before it; greedy: each of these ids is the likeliest; scored: their "
         "number, which is less than the continuation's where T holds no more. acc: the right "
         "choice has the largest log-likelihood, the first of equal ones; acc_norm: divided by the "
         "choice's length in code points; acc_bytes: in UTF-8 bytes; of a last word, acc: greedy, "
         "and perplexity: exp of minus the mean log-likelihood, per word.";
}

Index truncated(const Requests& requests, Index T) {
  Index count = 0;
  for (Index r = 0; r < requests.requests(); ++r) {
    if (requests.context_length(r) + requests.continuation_length(r) > T + 1) ++count;
  }
  return count;
}

/// The metrics of each task.
using Metrics = std::vector<std::vector<TaskMetric>>;

Metrics metrics_of(const Requests& requests, const RequestScores& scores) {
  Metrics found;
  for (Index t = 0; t < static_cast<Index>(requests.tasks.size()); ++t) {
    found.push_back(task_metrics(requests, scores, t));
  }
  return found;
}

void print(Console& console, const Requests& requests, const RequestScores& scores,
           const Metrics& metrics, Index T, double seconds) {
  for (std::size_t t = 0; t < metrics.size(); ++t) {
    const Index documents =
        std::count(requests.task.begin(), requests.task.end(), static_cast<std::int64_t>(t));
    std::string text = requests.tasks[t].name + ": " + format_count(documents) + " documents";
    for (const TaskMetric& metric : metrics[t]) {
      text += ", " + metric.name + " " + format_real(metric.value());
    }
    console.line(text);
  }
  char timing[160];
  std::snprintf(
      timing, sizeof timing,
      "%s requests in %s rows of %lld positions, %.1f %% of them in use, %.2f s",
      format_count(requests.requests()).c_str(), format_count(scores.rows).c_str(),
      static_cast<long long>(T),
      100.0 * static_cast<double>(scores.positions) / static_cast<double>(scores.rows * T),
      seconds);
  console.line(timing);
}

Attributes attributes_of(const MemberSettings& settings, const RunData& data,
                         const Model<float>& model, const Communicator& comm,
                         const CheckpointHeader& header, const std::string& checkpoint) {
  Attributes a = run_attributes(settings, data, model, comm);
  a.set("checkpoint", std::filesystem::path(checkpoint).filename().string());
  a.set("step", header.step).set("tokens", header.tokens).set("definition", definition());
  a.set("context", model.shape().context);
  return a;
}

}  // namespace

Outcome score_tasks(const MemberSettings& settings, const std::string& asked,
                    const Communicator& comm, Console& console) {
  const std::string path = trained_checkpoint(asked, settings.directory, comm, console);
  Requests requests;
  RunData data;
  comm.on_all([&] {
    requests = Requests::read(settings.run.requests_file);
    data = data_of(settings.run, requests, path);
    requests.check_ids(data.vocabulary);
    check_metrics(requests);
  });
  ModelSizes sizes = settings.sizes(data.vocabulary, comm.size());
  sizes.rank_sequences = sizes.micro_batch;  // one micro-batch at a time
  Model<float> model(settings.model, sizes);
  CheckpointHeader header;
  comm.on_all([&] {
    model.allocate_for_evaluation();
    header = load_values(path, model.parameters());
    check_tokenizer(header, path, requests);
    check_checkpoint(header, path, settings.resolved_deck, data);
  });
  console.line((settings.member.empty() ? "" : "member " + settings.member + ", ") + path +
               ", step " + std::to_string(header.step));

  const Clock clock;
  const RequestScores scores =
      score_requests(ExecSpace(), requests, settings.run.share_contexts, comm, model);
  const double seconds = clock.seconds();
  const Index T = model.shape().context;
  const Metrics metrics = metrics_of(requests, scores);
  print(console, requests, scores, metrics, T, seconds);
  if (const Index cut = truncated(requests, T); cut > 0) {
    console.line(format_count(cut) + " requests are longer than T + 1 = " + std::to_string(T + 1) +
                 " ids: their last T + 1 were used (of pages: in windows)");
  }
  Attributes attributes = attributes_of(settings, data, model, comm, header, path);
  attributes.set("seconds", seconds);
  comm.on_root([&] {
    make_directory(settings.directory);
    write_tasks(settings.directory + "/tasks.h5", attributes, requests, scores, metrics);
  });
  Outcome outcome;
  outcome.finished = true;
  outcome.validation_loss = std::numeric_limits<double>::quiet_NaN();
  outcome.parameters_trainable = model.list().count();
  return outcome;
}

}  // namespace lexikos

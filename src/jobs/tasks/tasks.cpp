#include "jobs/tasks/tasks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "data/requests/requests_file.hpp"
#include "jobs/model_job.hpp"
#include "jobs/tasks/request_scorer.hpp"
#include "jobs/tasks/task_metrics.hpp"
#include "jobs/tasks/tasks_file.hpp"
#include "train/member_files.hpp"
#include "train/provenance.hpp"
#include "train/trained_model.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

struct TasksSettings {
  std::string requests;        // path of a requests.h5
  bool share_contexts = true;  // of a question's choices
};

TasksSettings read_settings(const DeckTable& table) {
  TasksSettings s;
  s.requests =
      table.path({.name = "requests", .doc = "path of the requests.h5 that is scored"}, required);
  s.share_contexts = table.flag({.name = "share_contexts",
                                 .doc = "compute a context that choices share once; false: with "
                                        "each (the same numbers, slower)"},
                                true);
  return s;
}

/// Table [evaluate] had these keys; the resolved decks of old runs have them still, without a
/// value.
void read_former_place(const Deck& deck) {
  const DeckTable table = deck.idle_table("evaluate");
  if (table.has("share_contexts")) table.flag({.name = "share_contexts"}, true);
  if (!table.has("requests") || table.text({.name = "requests"}, "").empty()) return;
  table.reject("requests", "is now tasks.requests, of a job of its own: job = \"tasks\"");
}

/// What is known without a tokens file, which a machine that only evaluates need not have.
RunData data_of(const DataSettings& settings, const Requests& requests,
                const std::string& checkpoint) {
  RunData data;
  data.vocabulary =
      settings.vocabulary_size > 0 ? settings.vocabulary_size : checkpoint_vocabulary(checkpoint);
  data.tokenizer = requests.tokenizer;
  data.tokenizer_hash = requests.tokenizer_hash;
  data.source = requests.path;
  return data;
}

UsedTokenizer tokenizer_of(const Requests& requests) {
  return {requests.tokenizer, requests.tokenizer_hash, "tasks.requests = '" + requests.path + "'",
          "prepare the requests with --tokens and its tokens file"};
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

/// "-" where there is none.
std::string value_text(const TaskMetric& metric) {
  const double value = metric.value();
  if (std::isnan(value)) return "-";
  return std::isinf(value) ? perplexity_text(metric.mean(), 2) : format_real(value);
}

void print(Console& console, const Requests& requests, const RequestScores& scores,
           const Metrics& metrics, Index T, double seconds) {
  for (std::size_t t = 0; t < metrics.size(); ++t) {
    const Index documents =
        std::count(requests.task.begin(), requests.task.end(), static_cast<std::int64_t>(t));
    std::string text = requests.tasks[t].name + ": " + format_count(documents) + " documents";
    for (const TaskMetric& metric : metrics[t]) {
      text += ", " + metric.name + " " + value_text(metric);
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

class TasksJob final : public ModelJob {
 public:
  TasksJob(TasksSettings tasks, MemberSettings settings)
      : ModelJob(std::move(settings)), tasks_(std::move(tasks)) {}
  Outcome run(const JobContext& context) override;

 private:
  ModelSizes sizes(Index vocabulary, int ranks) const;
  Attributes attributes(const RunData& data, const TrainedModel& trained,
                        const Communicator& comm) const;
  TasksSettings tasks_;
};

/// One micro-batch at a time.
ModelSizes TasksJob::sizes(Index vocabulary, int ranks) const {
  ModelSizes sizes = settings_.sizes(vocabulary, ranks);
  sizes.rank_sequences = sizes.micro_batch;
  return sizes;
}

Attributes TasksJob::attributes(const RunData& data, const TrainedModel& trained,
                                const Communicator& comm) const {
  Attributes a = run_attributes(settings_, data, trained.model, comm);
  a.set("checkpoint", trained.file_name());
  a.set("step", trained.header.step).set("tokens", trained.header.tokens);
  a.set("definition", definition());
  a.set("context", trained.model.shape().context);
  return a;
}

Outcome TasksJob::run(const JobContext& context) {
  const auto& [arguments, comm, console, since_start] = context;
  const std::string path =
      trained_checkpoint(arguments.restart, settings_.directory, comm, console);
  Requests requests;
  RunData data;
  std::unique_ptr<TrainedModel> trained;
  comm.on_all([&] {
    requests = Requests::read(tasks_.requests);
    data = data_of(settings_.data, requests, path);
    requests.check_ids(data.vocabulary);
    check_metrics(requests);
    trained = TrainedModel::open(path, settings_, sizes(data.vocabulary, comm.size()),
                                 tokenizer_of(requests));
  });
  console.line(trained->text(settings_.member));

  const Clock clock;
  const RequestScores scores =
      score_requests(ExecSpace(), requests, tasks_.share_contexts, comm, trained->model);
  const double seconds = clock.seconds();
  const Index T = trained->model.shape().context;
  const Metrics metrics = metrics_of(requests, scores);
  print(console, requests, scores, metrics, T, seconds);
  if (const Index cut = truncated(requests, T); cut > 0) {
    console.line(format_count(cut) + " requests are longer than T + 1 = " + std::to_string(T + 1) +
                 " ids: their last T + 1 were used (of pages: in windows)");
  }
  const Attributes root = attributes(data, *trained, comm).set("seconds", seconds);
  comm.on_root([&] {
    make_directory(settings_.directory);
    write_tasks(settings_.directory + "/tasks.h5", root, requests, scores, metrics);
  });
  return {};
}

}  // namespace

std::unique_ptr<Job> read_tasks(JobDeck& from) {
  read_former_place(from.deck);
  const TasksSettings tasks = read_settings(from.deck.table("tasks"));
  return std::make_unique<TasksJob>(tasks, read_member(from));
}

void check_tasks(const Deck& deck) {
  read_former_place(deck);
  read_settings(deck.idle_table("tasks"));
}

}  // namespace lexikos

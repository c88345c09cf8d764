#include "jobs/tasks/task_metrics.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>

#include "utils/error.hpp"

namespace lexikos {
namespace {

/// One task's documents, and what was found of their requests.
struct TaskView {
  const Requests& requests;
  const RequestScores& scores;
  const Task& task;
  std::vector<Index> documents;

  [[nodiscard]] bool choices() const { return task.shape == TaskShape::multiple_choice; }

  template <class F>
  [[nodiscard]] std::vector<double> each(const F& of_document) const {
    std::vector<double> values;
    for (const Index d : documents) values.push_back(static_cast<double>(of_document(d)));
    return values;
  }
  [[nodiscard]] std::vector<double> ones() const {
    return std::vector<double>(documents.size(), 1.0);
  }
  [[nodiscard]] std::vector<double> right(const std::vector<std::int64_t>* lengths) const {
    return each([&](Index d) {
      return chosen(requests, scores.log_likelihood, d, lengths) == requests.gold[d] ? 1.0 : 0.0;
    });
  }
  [[nodiscard]] std::vector<double> greedy() const {
    return each([&](Index d) { return scores.greedy[requests.first_request[d]]; });
  }
  /// Minus the log-likelihood of each document's only request, over `unit`.
  [[nodiscard]] std::vector<double> cost(double unit = 1.0) const {
    return each([&](Index d) { return -scores.log_likelihood[requests.first_request[d]] / unit; });
  }
  [[nodiscard]] std::vector<double> words() const {
    return each([&](Index d) { return requests.words[d]; });
  }
  [[nodiscard]] std::vector<double> bytes() const {
    return each([&](Index d) { return requests.bytes[d]; });
  }
  [[nodiscard]] double chance() const {
    double sum = 0;
    for (const Index d : documents) {
      sum += 1.0 / static_cast<double>(requests.first_request[d + 1] - requests.first_request[d]);
    }
    return documents.empty() ? std::numeric_limits<double>::quiet_NaN()
                             : sum / static_cast<double>(documents.size());
  }
};

/// Metrics over a document's choices.
TaskMetric choice_metric(const TaskView& view, const std::string& name) {
  const auto made = [&](const std::vector<std::int64_t>* lengths) {
    return TaskMetric{name, view.right(lengths), view.ones(), false, view.chance()};
  };
  if (name == "acc") return made(nullptr);
  if (name == "acc_norm") return made(&view.requests.code_points);
  if (name == "acc_bytes") return made(&view.requests.choice_bytes);
  return {};
}

/// Metrics of documents with one request each.
TaskMetric text_metric(const TaskView& view, const std::string& name) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (name == "acc") return {name, view.greedy(), view.ones(), false, none};
  if (name == "perplexity") return {name, view.cost(), view.ones(), true, none};
  if (name == "word_perplexity") return {name, view.cost(), view.words(), true, none};
  if (name == "byte_perplexity") return {name, view.cost(), view.bytes(), true, none};
  if (name == "bits_per_byte") return {name, view.cost(std::log(2.0)), view.bytes(), false, none};
  return {};
}

}  // namespace

double TaskMetric::mean() const {
  const auto sum = [](const std::vector<double>& v) {
    return std::accumulate(v.begin(), v.end(), 0.0);
  };
  const double total = sum(weight);
  return total > 0 ? sum(numerator) / total : std::numeric_limits<double>::quiet_NaN();
}

double TaskMetric::value() const { return exponential ? std::exp(mean()) : mean(); }

Index chosen(const Requests& requests, const std::vector<double>& log_likelihood, Index document,
             const std::vector<std::int64_t>* lengths) {
  const Index first = requests.first_request[document];
  // Nothing is said by a choice without letters, so that it is never the likeliest for its length.
  const auto value = [&](Index r) {
    if (lengths == nullptr) return log_likelihood[r];
    const auto length = static_cast<double>((*lengths)[r]);
    return length > 0 ? log_likelihood[r] / length : -std::numeric_limits<double>::infinity();
  };
  Index best = first;
  for (Index r = first + 1; r < requests.first_request[document + 1]; ++r) {
    if (value(r) > value(best)) best = r;
  }
  return best - first;
}

std::vector<TaskMetric> task_metrics(const Requests& requests, const RequestScores& scores,
                                     Index task) {
  TaskView view{requests, scores, requests.tasks[task], {}};
  for (Index d = 0; d < requests.documents(); ++d) {
    if (requests.task[d] == task) view.documents.push_back(d);
  }
  std::vector<TaskMetric> found;
  std::istringstream names(view.task.metrics);
  for (std::string name; names >> name;) {
    found.push_back(view.choices() ? choice_metric(view, name) : text_metric(view, name));
    if (found.back().name.empty()) {
      fail(Status::file, "cannot use '" + requests.path + "': its task '" + view.task.name + "' (" +
                             view.task.shape_name + ") asks for the unknown metric '" + name + "'");
    }
  }
  return found;
}

void check_metrics(const Requests& requests) {
  const auto n = static_cast<std::size_t>(requests.requests());
  RequestScores blank;
  blank.log_likelihood.assign(n, 0.0);
  blank.greedy.assign(n, 0);
  for (Index t = 0; t < static_cast<Index>(requests.tasks.size()); ++t) {
    task_metrics(requests, blank, t);
  }
}

}  // namespace lexikos

#include "jobs/tasks/task_metrics.hpp"

#include <cmath>
#include <limits>
#include <sstream>

namespace lexikos {
namespace {

/// Sums over the documents of a task that its metrics are made of.
struct TaskSums {
  double documents = 0, right = 0, right_norm = 0, right_bytes = 0;
  double log_likelihood = 0, words = 0, bytes = 0;
};

TaskSums sums_of(const Requests& requests, const RequestScores& scores, Index task) {
  TaskSums s;
  for (Index d = 0; d < requests.documents(); ++d) {
    if (requests.task[d] != task) continue;
    const Index first = requests.first_request[d];
    const auto right = [&](const std::vector<std::int64_t>* lengths) {
      return chosen(requests, scores.log_likelihood, d, lengths) == requests.gold[d] ? 1.0 : 0.0;
    };
    s.documents += 1;
    s.log_likelihood += scores.log_likelihood[first];
    s.words += static_cast<double>(requests.words[d]);
    s.bytes += static_cast<double>(requests.bytes[d]);
    if (requests.tasks[task].shape == TaskShape::multiple_choice) {
      s.right += right(nullptr);
      s.right_norm += right(&requests.code_points);
      s.right_bytes += right(&requests.choice_bytes);
    } else {
      s.right += scores.greedy[first];
    }
  }
  return s;
}

double metric(const std::string& name, const TaskSums& s) {
  if (name == "acc") return s.right / s.documents;
  if (name == "acc_norm") return s.right_norm / s.documents;
  if (name == "acc_bytes") return s.right_bytes / s.documents;
  if (name == "perplexity") return std::exp(-s.log_likelihood / s.documents);
  if (name == "word_perplexity") return std::exp(-s.log_likelihood / s.words);
  if (name == "byte_perplexity") return std::exp(-s.log_likelihood / s.bytes);
  if (name == "bits_per_byte") return -s.log_likelihood / s.bytes / std::log(2.0);
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

Index chosen(const Requests& requests, const std::vector<double>& log_likelihood, Index document,
             const std::vector<std::int64_t>* lengths) {
  const Index first = requests.first_request[document];
  const auto value = [&](Index r) {
    return lengths == nullptr ? log_likelihood[r]
                              : log_likelihood[r] / static_cast<double>((*lengths)[r]);
  };
  Index best = first;
  for (Index r = first + 1; r < requests.first_request[document + 1]; ++r) {
    if (value(r) > value(best)) best = r;
  }
  return best - first;
}

TaskMetrics task_metrics(const Requests& requests, const RequestScores& scores, Index task) {
  const TaskSums sums = sums_of(requests, scores, task);
  TaskMetrics found;
  found.documents = static_cast<Index>(sums.documents);
  std::istringstream names(requests.tasks[task].metrics);
  for (std::string name; names >> name;) found.values.emplace_back(name, metric(name, sums));
  return found;
}

}  // namespace lexikos

// The metrics of evaluation tasks, as lm-evaluation-harness 0.4.13 defines them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "jobs/tasks/request_scorer.hpp"

namespace lexikos {

struct TaskMetrics {
  Index documents = 0;
  std::vector<std::pair<std::string, double>> values;  ///< in the order of Task::metrics
};

/// The document's choice with the largest log-likelihood, each divided by `lengths` (null: as it
/// is); the first of equal ones.
Index chosen(const Requests& requests, const std::vector<double>& log_likelihood, Index document,
             const std::vector<std::int64_t>* lengths);

/// Each metric of task number `task`, over its documents.
TaskMetrics task_metrics(const Requests& requests, const RequestScores& scores, Index task);

}  // namespace lexikos

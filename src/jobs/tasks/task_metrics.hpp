// The metrics of evaluation tasks, as lm-evaluation-harness 0.4.13 defines them.
#pragma once

#include <string>
#include <vector>

#include "jobs/tasks/request_scorer.hpp"

namespace lexikos {

/// One metric of one task, document by document. Its score is sum(numerator) / sum(weight), its
/// value the score or exp(score): accuracies have numerator 1 where the answer is right and weight
/// 1; perplexities have minus the log-likelihood in nats and weight 1 (last words), or the words or
/// bytes of a page.
struct TaskMetric {
  std::string name;
  std::vector<double> numerator, weight;  ///< [documents of the task]
  bool exponential = false;
  double chance = 0;  ///< of accuracies over choices: mean accuracy of a blind choice; else NaN

  /// sum(numerator) / sum(weight); NaN where the weights are none: no documents, words or bytes.
  [[nodiscard]] double mean() const;
  /// mean() or its exponential; infinite where that is past the largest double.
  [[nodiscard]] double value() const;
};

/// The document's choice with the largest log-likelihood, each divided by `lengths` (null: as it
/// is); the first of equal ones. A choice of length 0 loses against any other.
Index chosen(const Requests& requests, const std::vector<double>& log_likelihood, Index document,
             const std::vector<std::int64_t>* lengths);

/// The metrics of task number `task`, in the order of Task::metrics. Errors (Status::file): a
/// metric that is not known, or not of tasks of this shape.
std::vector<TaskMetric> task_metrics(const Requests& requests, const RequestScores& scores,
                                     Index task);

/// Error(file) as task_metrics, for every task of a file: before hours of scoring.
void check_metrics(const Requests& requests);

}  // namespace lexikos

// tasks.h5: what a model made of the requests of evaluation tasks, request by request, and the
// metrics of each task, document by document. src/outputs/README.md has the layout.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hdf5/attributes.hpp"
#include "jobs/tasks/task_metrics.hpp"

namespace lexikos {

/// Format version of tasks.h5 that is written.
inline constexpr std::int64_t tasks_format_version = 2;

/// Writes `path`, with `attributes` on the root beside format and format_version; `metrics`: of
/// each task. Errors: as Hdf5Writer.
void write_tasks(const std::string& path, const Attributes& attributes, const Requests& requests,
                 const RequestScores& scores, const std::vector<std::vector<TaskMetric>>& metrics);

}  // namespace lexikos

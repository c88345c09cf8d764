// tasks.h5: what a model made of the requests of evaluation tasks, request by request, with all of
// requests.h5 that metrics need. README.md has the layout.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/requests/requests_file.hpp"
#include "hdf5/attributes.hpp"

namespace lexikos {

/// Format version of tasks.h5 that is written.
inline constexpr std::int64_t tasks_format_version = 1;

/// [requests] each.
struct TaskResults {
  const std::vector<double>& log_likelihood;  ///< nats
  const std::vector<std::uint8_t>& greedy;
  const std::vector<std::int64_t>& scored;
};

/// Writes `path`, with `attributes` on the root beside format and format_version. Errors: as
/// Hdf5Writer.
void write_tasks(const std::string& path, const Attributes& attributes, const Requests& requests,
                 const TaskResults& results);

}  // namespace lexikos

// job = "evaluate" with evaluate.requests: a trained model on evaluation tasks, into tasks.h5.
#pragma once

#include <string>

#include "console/console.hpp"
#include "jobs/outcome.hpp"
#include "parallel/communicator.hpp"
#include "train/member_settings.hpp"

namespace lexikos {

/// Reads the checkpoint `asked` (a file; "" or "latest": the member's newest), scores every request
/// of the deck's evaluate.requests, prints each task's metrics, and writes tasks.h5 into the
/// member's folder. V is the deck's, else the checkpoint's; no tokens file is read. Collective.
/// Throws Error(file) or Error(deck) where checkpoint, requests and deck do not fit each other.
Outcome score_tasks(const MemberSettings& settings, const std::string& asked,
                    const Communicator& comm, Console& console);

}  // namespace lexikos

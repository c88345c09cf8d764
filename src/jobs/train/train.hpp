// job = "train": a model from its first step, or from a checkpoint, to its last.
#pragma once

#include <optional>
#include <string>

#include "console/console.hpp"
#include "jobs/outcome.hpp"
#include "train/member_settings.hpp"

namespace lexikos {

/// Trains a member of the deck into its folder: history.h5, embedding.h5 and checkpoints. `asked`
/// is the checkpoint to go on from: a file, "latest", or "" for a fresh start, which an older run's
/// files in the folder forbid. Ends between two steps, with a checkpoint, where a stop signal has
/// come (train/stop_signal.hpp) or a checkpoint would not fit any more into what is left of
/// `wall_limit` seconds on `wall_clock`. A file `output_now` in the folder asks for checkpoint,
/// history and embedding file at once; it is removed when they are there. Collective.
Outcome train(const MemberSettings& settings, const std::string& asked, const Clock& wall_clock,
              std::optional<double> wall_limit, const Communicator& comm, Console& console);

}  // namespace lexikos

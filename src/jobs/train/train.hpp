// job = "train": a model from its first step, or from a checkpoint, to its last.
#pragma once

#include "jobs/job.hpp"

namespace lexikos {

/// Trains a member of the deck into its folder: history.h5, embedding.h5 and checkpoints. `-r` is
/// the checkpoint to go on from: a file, "latest", or "" for a fresh start, which an older run's
/// files in the folder forbid. Ends between two steps, with a checkpoint, where a stop signal has
/// come (train/stop_signal.hpp) or a checkpoint would not fit any more into what is left of the
/// wall limit. A file `output_now` in the folder asks for checkpoint, history and embedding file at
/// once; it is removed when they are there.
std::unique_ptr<Job> read_train(JobDeck& from);

}  // namespace lexikos

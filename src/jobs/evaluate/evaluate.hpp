// job = "evaluate": the held-out loss of a trained model, into evaluation.h5.
#pragma once

#include "jobs/job.hpp"

namespace lexikos {

/// Reads the checkpoint of `-r` (a file; "" or "latest": the member's newest), evaluates it on the
/// deck's validation tokens, prints the loss in all and by token frequency, and writes
/// evaluation.h5 into the member's folder. Throws Error(file) or Error(deck) where the checkpoint
/// or the tokens do not fit the deck.
std::unique_ptr<Job> read_evaluate(JobDeck& from);

}  // namespace lexikos

// job = "tasks": a trained model on evaluation tasks, into tasks.h5.
#pragma once

#include "jobs/job.hpp"

namespace lexikos {

/// Reads the checkpoint of `-r` (a file; "" or "latest": the member's newest), scores every request
/// of the deck's tasks.requests, prints each task's metrics, and writes tasks.h5 into the member's
/// folder. V is the deck's, else the checkpoint's; no tokens file is read. Throws Error(file) or
/// Error(deck) where checkpoint, requests and deck do not fit each other.
std::unique_ptr<Job> read_tasks(JobDeck& from);

/// Checks table [tasks] of another job's deck. Error(deck) for the key's former place,
/// evaluate.requests.
void check_tasks(const Deck& deck);

}  // namespace lexikos

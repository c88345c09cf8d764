// Which jobs exist, by deck name.
#pragma once

#include <memory>
#include <string>

#include "jobs/job.hpp"

namespace lexikos {

/// Reads the deck's key `job`. Throws Error(deck) for a name that is not in the list.
const JobEntry& read_job(const Deck& deck);

/// Reads one deck whole: the job's tables, and the keys of the tables that other jobs have in it. A
/// key that nobody read is an Error(deck).
std::unique_ptr<Job> make_job(const JobEntry& entry, JobDeck from);

/// Every key that any job or package reads, as Markdown (`-k`, and inputs/README.md).
std::string key_reference();

}  // namespace lexikos

// job = "capacity": the geometry of embedding matrices, from any weight file.
#pragma once

#include "jobs/job.hpp"

namespace lexikos {

/// Analyses the files of [capacity] one after the other and writes capacity.h5 into the run's
/// folder. Reads [capacity], [capacity.law] and output.directory.
std::unique_ptr<Job> read_capacity(JobDeck& from);

/// Checks these two tables in another job's deck.
void check_capacity(const Deck& deck);

}  // namespace lexikos

// job = "packing": a grid of packing experiments, cell by cell, spread over the ranks.
#pragma once

#include "jobs/job.hpp"

namespace lexikos {

/// Runs the cells of [packing] whose file is not in the run's folder yet; stops between cells at
/// the wall limit or on a signal. Cell by cell the result depends on the seed and the cell only.
std::unique_ptr<Job> read_packing(JobDeck& from);

/// Checks table [packing] of another job's deck.
void check_packing(const Deck& deck);

}  // namespace lexikos

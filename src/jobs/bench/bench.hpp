// job = "bench": times training steps and says what share of the machine's GEMM rate they reach.
#pragma once

#include "jobs/job.hpp"

namespace lexikos {

/// Runs the deck's steps without files; prints the GEMM rate measured in this process, the median
/// step (the first left out) and its share of that rate.
std::unique_ptr<Job> read_bench(JobDeck& from);

}  // namespace lexikos

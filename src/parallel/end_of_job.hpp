// The end of a job: one line, one exit status, on every rank.
#pragma once

#include <functional>

#include "parallel/communicator.hpp"

namespace lexikos {

/// Runs `work` on every rank of `world` and returns the exit status. An error is printed once, on
/// standard error. Where a rank fails alone, so that others wait for it in a collective call, it
/// prints its own line and ends the job with MPI_Abort and the error's status: then this returns on
/// no rank.
int run_job(const Communicator& world, const std::function<void()>& work);

/// For std::set_terminate: an exception that nobody can catch, of a thread or out of a destructor,
/// ends the process with its line and Status::resource.
[[noreturn]] void end_on_uncaught();

}  // namespace lexikos

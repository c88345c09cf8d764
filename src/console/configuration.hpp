// What this executable is and what it found: `lexikos -c`, and the facts that files carry.
#pragma once

#include <string>

#include "parallel/communicator.hpp"

namespace lexikos {

/// "0.1.0 (commit)".
std::string code_version();

/// "3.4.1".
std::string kokkos_version();

/// Execution space and its concurrency: "OpenMP, 2 threads".
std::string device_text();

/// Host threads of this rank.
int host_threads();

/// Versions, backends, devices, BLAS and MPI, a line each; collective.
std::string configuration_text(const Communicator& world);

}  // namespace lexikos

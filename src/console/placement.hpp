// Which rank computes where: the table at the start of a run, and warnings of what makes it slow.
#pragma once

#include <string>
#include <vector>

#include "parallel/communicator.hpp"

namespace lexikos {

/// Numbers of the cores (hardware threads) that a process may use, ascending; empty: unknown.
using Cores = std::vector<int>;

/// Those of all threads of this process. Ask when Kokkos has started them: with OMP_PROC_BIND the
/// run time binds each to cores of its own, the first one even before main().
Cores allowed_cores();

/// Where one rank computes.
struct Placement {
  std::string host;
  std::string device;  ///< bus address of its GPU; "" where it computes on the host
  int threads = 1;     ///< of the host
  Cores cores;
};

/// The table: a line a rank, or a line a host where there are more than 16 ranks; at most 16 lines
/// and 80 columns. `ranks` in rank order.
std::string placement_table(const std::vector<Placement>& ranks);

/// Two ranks on one device; more threads than a rank's cores. A line each, the ranks that share
/// the same fault in one.
std::vector<std::string> placement_warnings(const std::vector<Placement>& ranks);

/// Prints both from the root, the table only where asked for. Collective, after Kokkos has started.
void report_placement(const Communicator& world, bool with_table);

}  // namespace lexikos

// The main of every test program: MPI and Kokkos around one Catch2 session.
//
// Every rank runs the same cases. Rank 0 reports; another rank's report is
// shown only when it has a failure. A rank that fails ends the whole job,
// because the others may be waiting for it in a collective.
#include <mpi.h>

#include <Kokkos_Core.hpp>
#include <iostream>
#include <sstream>

// For 2.13, whose own code comes with this include. Signals are left alone: mpirun ends the ranks
// of a failed job with one, and a report from each would bury the failure.
#define CATCH_CONFIG_RUNNER
#define CATCH_CONFIG_NO_POSIX_SIGNALS
#define CATCH_CONFIG_COLOUR_NONE
#include "harness/catch.hpp"
#include "hdf5/probe.hpp"
#include "kokkos_types.hpp"

namespace {

std::ostringstream held_back;  // the report of a rank other than 0

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

void end_job() {
  std::cout << std::flush;
  std::cerr << "---- rank " << world_rank() << " failed ----\n" << held_back.str() << std::flush;
  MPI_Abort(MPI_COMM_WORLD, 1);
}

#if defined(CATCH_VERSION_MAJOR) && CATCH_VERSION_MAJOR >= 3
using ListenerBase = Catch::EventListenerBase;
#else
using ListenerBase = Catch::TestEventListenerBase;
#endif

/// By the end of a section its failures have been printed, and no other section has begun.
struct EndJobOnFailure : ListenerBase {
  using ListenerBase::ListenerBase;

  void sectionEnded(const Catch::SectionStats& stats) override {
    if (stats.assertions.failed > 0 && world_size() > 1) end_job();
    ListenerBase::sectionEnded(stats);
  }
};

CATCH_REGISTER_LISTENER(EndJobOnFailure)

int run_session(int argc, char** argv) {
  std::streambuf* const screen = std::cout.rdbuf();
  if (world_rank() != 0) std::cout.rdbuf(held_back.rdbuf());
  const int status = Catch::Session().run(argc, argv);
  std::cout.rdbuf(screen);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  lexikos::serve_probe(argc, argv);
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  Kokkos::initialize(argc, argv);  // takes its own arguments out
#if defined(LEXIKOS_EMULATE_DEVICE)
  lexikos::emulation::begin();
#endif
  const int status = run_session(argc, argv);
  Kokkos::finalize();
  MPI_Finalize();
  return status;
}

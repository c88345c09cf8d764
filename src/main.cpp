// lexikos: trains and measures language models under different input interfaces.
//   1 MPI    2 arguments    3 Kokkos    4 deck    5 packages, data and driver    6 finalise
#include <mpi.h>

#include <Kokkos_Core.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "console/configuration.hpp"
#include "console/placement.hpp"
#include "deck/arguments.hpp"
#include "deck/deck.hpp"
#include "hdf5/probe.hpp"
#include "jobs/driver.hpp"
#include "jobs/registry.hpp"
#include "parallel/communicator.hpp"
#include "parallel/end_of_job.hpp"
#include "train/stop_signal.hpp"

namespace {

using namespace lexikos;

/// Prints what needs no deck.
void print_asked(const Arguments& arguments, const Communicator& world) {
  std::string text;
  if (arguments.show_help) text = usage();
  if (arguments.show_version) text = "lexikos " + code_version() + "\n";
  if (arguments.show_keys) text = key_reference();
  if (arguments.show_config) text = configuration_text(world);
  if (world.is_root()) std::fputs(text.c_str(), stdout);
}

void run(int argc, char** argv, const Communicator& world) {
  const Arguments arguments = parse_arguments(argc, argv);
  // Kokkos warns where it is unset; unset and "false" mean the same to the OpenMP run time.
  setenv("OMP_PROC_BIND", "false", 0);
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is an error of the write, with its line
  const Kokkos::ScopeGuard kokkos(argc, argv);
  if (arguments.only_prints()) {
    print_asked(arguments, world);
    return;
  }
  report_placement(world, !arguments.dry_run);
  const Deck deck = Deck::from_file(arguments.deck, arguments.overrides);
  drive(deck, arguments, world);
}

}  // namespace

int main(int argc, char** argv) {
  serve_probe(argc, argv);
  hold_stop_signals();
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int status = 0;
  {
    const Communicator world(MPI_COMM_WORLD);
    status = run_job(world, [&] { run(argc, argv, world); });
  }
  MPI_Finalize();
  return status;
}

// lexikos: trains and measures language models under different input interfaces.
//   1 MPI    2 arguments    3 Kokkos    4 deck    5 packages, data and driver    6 finalise
#include <mpi.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "console/configuration.hpp"
#include "console/output.hpp"
#include "console/placement.hpp"
#include "deck/arguments.hpp"
#include "deck/deck.hpp"
#include "hdf5/probe.hpp"
#include "jobs/driver.hpp"
#include "jobs/registry.hpp"
#include "kokkos_types.hpp"
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
  if (world.is_root()) write_output(text);
}

using KokkosGuard = std::unique_ptr<Kokkos::ScopeGuard>;

/// Starts Kokkos, which takes its own arguments out of the list: what is left of them it does not
/// know. Their names differ between its versions.
KokkosGuard start_kokkos(int argc, char** argv) {
  // Kokkos warns where it is unset; unset and "false" mean the same to the OpenMP run time.
  setenv("OMP_PROC_BIND", "false", 0);
  const auto first_of_kokkos = [&] {
    return std::find_if(argv, argv + argc, [](const char* word) {
      return std::string_view(word).starts_with(kokkos_prefix);
    });
  };
  KokkosGuard guard;
  try {
    guard = std::make_unique<Kokkos::ScopeGuard>(argc, argv);
  } catch (const std::exception& error) {
    const char* const* asked = first_of_kokkos();
    if (asked == argv + argc) {
      fail(Status::resource, std::string("Kokkos does not start: ") + error.what());
    }
    fail(Status::deck,
         "command line: Kokkos does not start with '" + std::string(*asked) + "': " + error.what());
  }
  if (char** left = first_of_kokkos(); left != argv + argc) {
    fail(Status::deck, "command line: Kokkos " + kokkos_version() + " does not know '" +
                           std::string(*left) +
                           "'; OMP_NUM_THREADS sets the threads, "
                           "--kokkos-help prints its arguments");
  }
  return guard;
}

/// A run that writes files goes on without its console; whoever only asked to read must know.
void check_output(const Communicator& world, bool files_have_it) {
  const std::string why = world.is_root() ? output_failure() : "";
  if (why.empty()) return;
  const std::string what = "cannot write standard output: " + why;
  if (!files_have_it) fail(Status::file, what + "; send it elsewhere");
  std::fprintf(stderr, "lexikos: warning: %s; lines are lost, the files are whole\n", what.c_str());
}

void run(int argc, char** argv, const Communicator& world) {
  const Arguments arguments = parse_arguments(argc, argv);
  const KokkosGuard kokkos = start_kokkos(argc, argv);
#if defined(LEXIKOS_EMULATE_DEVICE)
  emulation::begin();
#endif
  if (arguments.only_prints()) {
    print_asked(arguments, world);
    return check_output(world, false);
  }
  report_placement(world, !arguments.dry_run);
  const Deck deck = Deck::from_file(arguments.deck, arguments.overrides);
  drive(deck, arguments, world);
  check_output(world, !arguments.dry_run && read_job(deck).stops);
}

}  // namespace

int main(int argc, char** argv) {
  serve_probe(argc, argv);
  std::set_terminate(end_on_uncaught);
  open_standard_descriptors();
  watch_stop_signals();
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  let_writes_fail();
  int status = 0;
  {
    const Communicator world(MPI_COMM_WORLD);
    status = run_job(world, [&] { run(argc, argv, world); });
  }
  MPI_Finalize();
  return status;
}

// A job of which one rank fails in the middle of a step, for test_failures.py:
//   failing_rank <rank> <status>
// The step sums gradients, as training does. The rank throws after the first message is under way;
// the others wait for a second one that never comes.
#include <mpi.h>

#include <Kokkos_Core.hpp>
#include <cstdlib>

#include "parallel/end_of_job.hpp"
#include "parallel/gradient_reducer.hpp"

namespace {

using namespace lexikos;

void step(const Communicator& world, int bad, Status status) {
  const ExecSpace space;
  const Buffer<float> gradients("gradients", 1 << 20);
  GradientReducer<float> reducer(world, {"auto", 1 << 18}, gradients);
  reducer.start(space, 0, 1 << 19);
  if (world.rank() == bad) fail(status, "a device error in mid-step");
  reducer.start(space, 1 << 19, 1 << 20);
  reducer.finish(space);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int status = 0;
  {
    const Communicator world(MPI_COMM_WORLD);
    status = run_job(world, [&] {
      const Kokkos::ScopeGuard kokkos(argc, argv);
      for (int i = 0; i < 3; ++i)
        step(world, i < 2 ? -1 : std::atoi(argv[1]), Status(std::atoi(argv[2])));
      world.barrier();
    });
  }
  MPI_Finalize();
  return status;
}

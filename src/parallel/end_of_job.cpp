#include "parallel/end_of_job.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>

namespace lexikos {
namespace {

void end_job(const Communicator& world, const RankError& error) {
  if (error.speaks()) {
    std::fprintf(stderr, "lexikos: error: rank %d: %s\n", world.rank(), error.what());
    std::fflush(nullptr);
  } else {
    // Another rank has the same error and prints it.
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(error.status()));
}

}  // namespace

void end_on_uncaught() {
  std::string what = "an exception of a library that does not say what it is";
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
    what = "a library ended the program";
  } catch (const std::exception& error) {
    what = single_line(error.what());
  } catch (...) {
  }
  std::fprintf(stderr, "lexikos: error: %s\n", what.c_str());
  std::_Exit(static_cast<int>(Status::resource));
}

int run_job(const Communicator& world, const std::function<void()>& work) {
  try {
    world.on_all(work);
  } catch (const RankError& error) {
    if (error.alone()) end_job(world, error);
    if (world.is_root()) std::fprintf(stderr, "lexikos: error: %s\n", error.what());
    return static_cast<int>(error.status());
  }
  return static_cast<int>(Status::ok);
}

}  // namespace lexikos

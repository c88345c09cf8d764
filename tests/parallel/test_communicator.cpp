// Long messages are cut; an error of one rank is the error of all; and what the ranks exchange.
//
// MPI's profiling interface is the witness: the calls below take the place of MPI's own and note
// how long a message is.
#include <mpi.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "harness/catch.hpp"
#include "harness/child_process.hpp"
#include "parallel/communicator.hpp"
#include "parallel/end_of_job.hpp"
#include "parallel/gradient_reducer.hpp"

namespace {

int largest = 0;  // elements of a message
int messages = 0;

void note(int count) {
  largest = std::max(largest, count);
  ++messages;
}

void forget() { largest = messages = 0; }

}  // namespace

extern "C" int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
  note(count);
  return PMPI_Allreduce(in, out, count, type, op, comm);
}

extern "C" int MPI_Iallreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm, MPI_Request* request) {
  note(count);
  return PMPI_Iallreduce(in, out, count, type, op, comm, request);
}

extern "C" int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  note(count);
  return PMPI_Bcast(data, count, type, root, comm);
}

extern "C" int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag,
                        MPI_Comm comm) {
  note(count);
  return PMPI_Send(data, count, type, to, tag, comm);
}

using namespace lexikos;

namespace {

constexpr int limit = 7;

}  // namespace

TEST_CASE("sums and largest values longer than a message are cut and whole") {
  const Communicator comm(MPI_COMM_WORLD, limit);
  const int size = comm.size();
  for (const int count : {0, 1, 6, 7, 8, 14, 100}) {
    INFO("count " << count);
    std::vector<double> sums(count), most(count);
    for (int i = 0; i < count; ++i) {
      sums[i] = 1000 * comm.rank() + i;
      most[i] = comm.rank() == i % size ? i : -1;
    }
    forget();
    comm.sum(sums);
    comm.max(most);
    CHECK(largest <= limit);
    CHECK(messages == (size == 1 ? 0 : 2 * ((count + limit - 1) / limit)));
    for (int i = 0; i < count; ++i) {
      CHECK(sums[i] == 1000 * size * (size - 1) / 2 + size * i);
      CHECK(most[i] == i);
    }
  }
}

TEST_CASE("texts longer than a message are cut and whole") {
  const Communicator comm(MPI_COMM_WORLD, limit);
  const Communicator group = comm.split(0);  // keeps the limit
  std::string text(50, '\0');
  std::iota(text.begin(), text.end(), '!');
  forget();
  CHECK(group.broadcast(group.is_root() ? text : "other") == text);
  CHECK(comm.broadcast("") == "");
  const auto all = group.gather(text + std::to_string(comm.rank()));
  CHECK(largest <= limit);
  REQUIRE(all.size() == (comm.is_root() ? static_cast<std::size_t>(comm.size()) : 0));
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == text + std::to_string(i));
}

TEMPLATE_TEST_CASE("gradients longer than a message are cut and whole", "", float, double) {
  const Communicator comm(MPI_COMM_WORLD, limit);
  const ExecSpace space;
  for (const char* path : {"on", "off"}) {
    const Buffer<TestType> gradients("gradients", 100);
    const auto host = Kokkos::create_mirror_view(Kokkos::HostSpace(), gradients);
    for (int i = 0; i < 100; ++i) host(i) = static_cast<TestType>(i + comm.rank());
    Kokkos::deep_copy(gradients, host);
    GradientReducer<TestType> reducer(comm, {path, 1 << 20}, gradients);
    forget();
    reducer.start(space, 30, 95);
    reducer.start(space, 0, 30);
    reducer.finish(space);
    CHECK(largest <= limit);
    CHECK(messages == (comm.size() == 1 ? 0 : 10 + 5));
    Kokkos::deep_copy(host, gradients);
    const int size = comm.size();
    for (int i = 0; i < 95; ++i) {
      CHECK(host(i) == static_cast<TestType>(size * i + size * (size - 1) / 2));
    }
    for (int i = 95; i < 100; ++i) CHECK(host(i) == static_cast<TestType>(i + comm.rank()));
  }
}

TEST_CASE("without a limit no message is longer than MPI can count") {
  CHECK(Communicator(MPI_COMM_WORLD).largest_message() <= std::int64_t{2147483647});
  CHECK(Communicator(MPI_COMM_WORLD, 0).largest_message() == 1);
}

TEST_CASE("an error of any rank is the error of all, and one of them prints it") {
  const Communicator comm(MPI_COMM_WORLD);
  for (int bad = 0; bad < comm.size(); ++bad) {
    bool thrown = false;
    try {
      comm.on_all([&] {
        if (comm.rank() >= bad) {
          fail(Status::file, "rank " + std::to_string(comm.rank()) + " cannot read");
        }
      });
    } catch (const RankError& error) {
      thrown = true;
      CHECK(std::string(error.what()) == "rank " + std::to_string(bad) + " cannot read");
      CHECK(error.status() == Status::file);
      CHECK(error.speaks() == (comm.rank() == bad));
      CHECK_FALSE(error.alone());
    }
    CHECK(thrown);
  }
  comm.on_all([] {});  // and the ranks are still in step
  CHECK(comm.sum(1.0) == comm.size());
}

TEST_CASE("an exception that nobody can catch ends the process with a line and a status") {
  const auto status_of = [](void (*work)()) {
    const int status = fixtures::status_of_child([&] {
      std::set_terminate(lexikos::end_on_uncaught);
      std::thread(work).join();
    });
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  CHECK(status_of([] {}) == 0);
  CHECK(status_of([] { throw std::runtime_error("a library's"); }) == 5);
  CHECK(status_of([] { throw 7; }) == 5);
  CHECK(status_of([]() noexcept { std::terminate(); }) == 5);
}

TEST_CASE("any exception becomes an error with a line and a status") {
  const lexikos::Communicator world(MPI_COMM_WORLD);
  const auto error_of = [&](const std::function<void()>& work) {
    try {
      world.on_all(work);
    } catch (const lexikos::Error& error) {
      return std::to_string(static_cast<int>(error.status())) + " " + error.what();
    }
    return std::string("none");
  };
  CHECK(error_of([] { throw 7; }).substr(0, 18) == "5 an exception of ");
  CHECK(error_of([] { (void)std::filesystem::file_size("/none/here"); }).substr(0, 24) ==
        "3 cannot use '/none/here");
}

// A writer is killed, or its disk fails, at every call by which a file comes into being.
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "harness/catch.hpp"
#include "harness/child_process.hpp"
#include "harness/file_fixtures.hpp"
#include "harness/history_rows.hpp"
#include "kill_point.hpp"
#include "outputs/checkpoint.hpp"

using namespace lexikos;
using namespace fixtures;

namespace {

/// Enough arrays for many writes; `start` makes one step's values differ from another's.
void write(const std::string& folder, std::int64_t step) {
  const std::vector<float> values(3000, static_cast<float>(step));
  StateArrays<const float> state;
  for (auto* set : {&state.parameters, &state.moment1, &state.moment2}) {
    for (int i = 0; i < 40; ++i) {
      const std::int64_t rows = i % 3 == 0 ? 300 : 2;
      set->push_back({"block." + std::to_string(i), {rows, 10}, values.data()});
    }
  }
  CheckpointHeader header;
  header.step = step;
  header.deck = "[run]\nsteps = 3\n";
  write_checkpoint<float>(checkpoint_path(folder, step), header, state, some_history(step));
}

void write_history(const std::string& folder, std::int64_t rows) {
  some_history(rows).write(folder + "/history.h5", history_format, {});
}

/// The calls of `work`, as letters.
template <class Work>
std::string calls_of(const std::string& folder, const Work& work) {
  kill_point::set({folder, 0, false, 0});
  work();
  std::string letters = kill_point::calls();
  kill_point::set({});
  return letters;
}

/// Does `work` in a process that dies at call number `at`.
template <class Work>
void die(const std::string& folder, long at, bool half, const Work& work) {
  const int status = status_of_child([&] {
    kill_point::set({folder, at, half, 0});
    work();
  });
  REQUIRE(WIFSIGNALED(status));
  REQUIRE(WTERMSIG(status) == SIGKILL);
}

std::size_t temporaries(const std::string& folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    count += contains(entry.path().filename().string(), ".tmp.") ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("a file is on the disk before it gets its name, and the name before the writer goes on") {
  const TemporaryFolder folder;
  for (const std::string& calls :
       {calls_of(folder.path(), [&] { write(folder.path(), 1); }),
        calls_of(folder.path(), [&] { write_history(folder.path(), 9); })}) {
    INFO(calls);
    REQUIRE(calls.size() > 4);
    CHECK(calls.substr(calls.size() - 4) == "wsrs");
    CHECK(calls.find_first_of("sr") == calls.size() - 3);
  }
}

TEST_CASE("a checkpoint whose writer is killed at any call is the old one or the new one") {
  const TemporaryFolder folder;
  const std::string old = checkpoint_path(folder.path(), 1),
                    next = checkpoint_path(folder.path(), 2);
  write(folder.path(), 1);
  const std::string calls = calls_of(folder.path(), [&] { write(folder.path(), 2); });
  const std::string old_bytes = bytes_of(old), next_bytes = bytes_of(next);
  std::filesystem::remove(next);
  const auto named = static_cast<long>(calls.find('r')) + 1;  // the call that gives the name

  int points = 0;
  for (long at = 1; at <= static_cast<long>(calls.size()); ++at) {
    const bool is_write = calls[at - 1] == 'w';
    for (int half = 0; half <= (is_write ? 1 : 0); ++half) {
      INFO("call " << at << " of " << calls.size() << ", half " << half);
      die(folder.path(), at, half == 1, [&] { write(folder.path(), 2); });
      ++points;
      std::vector<std::string> passed_over;
      const std::string newest =
          find_newest_checkpoint(folder.path(), &passed_over).value_or("none");
      REQUIRE(newest == (at <= named ? old : next));
      REQUIRE(passed_over.empty());
      const bool intact = bytes_of(old) == old_bytes;
      REQUIRE(intact);
      // The job that follows writes the same step; what the dead one left goes.
      write(folder.path(), 2);
      prune_checkpoints(folder.path(), {0, 0});
      const bool same = bytes_of(next) == next_bytes;
      REQUIRE(same);
      REQUIRE(temporaries(folder.path()) == 0);
      std::filesystem::remove(next);
    }
  }
  INFO(points << " kill points");
  CHECK(points >= 200);
}

TEST_CASE("a history whose writer is killed at any call is the old one or the new one") {
  const TemporaryFolder folder;
  const std::string path = folder.file("history.h5");
  write_history(folder.path(), 70);
  const std::string next_bytes = bytes_of(path);
  write_history(folder.path(), 3);
  const std::string old_bytes = bytes_of(path);
  const std::string calls = calls_of(folder.path(), [&] { write_history(folder.path(), 70); });
  const auto named = static_cast<long>(calls.find('r')) + 1;
  for (long at = 1; at <= static_cast<long>(calls.size()); ++at) {
    write_history(folder.path(), 3);
    die(folder.path(), at, at % 2 == 0, [&] { write_history(folder.path(), 70); });
    INFO("call " << at << " of " << calls.size());
    const bool right = bytes_of(path) == (at <= named ? old_bytes : next_bytes);
    REQUIRE(right);
    History found = empty_history();
    found.read_rows(Hdf5Reader(path));
    CHECK(found.rows("history") == (at <= named ? 3 : 70));
  }
}

TEST_CASE("a checkpoint whose disk fails at any call is one error, and the one before stays") {
  const TemporaryFolder folder;
  const std::string old = checkpoint_path(folder.path(), 1);
  write(folder.path(), 1);
  const std::string old_bytes = bytes_of(old);
  const std::string calls = calls_of(folder.path(), [&] { write(folder.path(), 2); });
  std::filesystem::remove(checkpoint_path(folder.path(), 2));
  const auto named = static_cast<long>(calls.find('r')) + 1;
  const int errors[] = {ENOSPC, EDQUOT, EROFS, EIO};
  for (long at = 1; at <= named; ++at) {
    const int error = errors[at % 4];
    kill_point::set({folder.path(), at, false, error});
    const std::string text = error_of([&] { write(folder.path(), 2); });
    kill_point::set({});
    INFO("call " << at << " of " << calls.size() << ": " << text);
    REQUIRE(contains(text, "cannot write '" + checkpoint_path(folder.path(), 2) + "': "));
    REQUIRE(contains(text, std::strerror(error)));
    REQUIRE(folder.entries() == 1);
    const bool intact = bytes_of(old) == old_bytes;
    REQUIRE(intact);
  }
  write(folder.path(), 2);  // and the library still works
  CHECK(find_newest_checkpoint(folder.path()) == checkpoint_path(folder.path(), 2));
}

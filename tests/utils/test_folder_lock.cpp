#include "utils/folder_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "harness/catch.hpp"
#include "harness/child_process.hpp"
#include "harness/file_fixtures.hpp"
#include "utils/error.hpp"
#include "utils/process_identity.hpp"

namespace fs = std::filesystem;
using lexikos::Error;
using lexikos::FolderLock;
using lexikos::ProcessIdentity;
using std::chrono::milliseconds;

namespace {

/// Short, but long against what a busy machine is late by.
const FolderLock::Times quick{milliseconds(50), milliseconds(1500)};

struct Folder {
  fixtures::TemporaryFolder parent;
  std::string path = parent.file("run");
  std::string lock = path + "/run.lock";
  std::string said;

  FolderLock take() {
    return {path, "run.lock", [this](const std::string& line) { said += line; }, quick};
  }

  /// A lock that somebody else has left.
  void leave(const ProcessIdentity& holder) const {
    fs::create_directories(path);
    std::ofstream(lock) << holder.text();
  }

  [[nodiscard]] ProcessIdentity holder() const {
    std::ostringstream text;
    text << std::ifstream(lock).rdbuf();
    return ProcessIdentity::from(text.str());
  }

  std::string refusal() {
    return fixtures::error_of([this] { take(); });
  }
};

/// As seen from here: a process of another machine.
ProcessIdentity foreign() {
  ProcessIdentity holder = ProcessIdentity::own();
  holder.host = "node7";
  holder.boot = "another";
  return holder;
}

}  // namespace

TEST_CASE("a folder's lock goes with its holder, and the folder too where nothing is in it") {
  Folder folder;
  {
    const FolderLock lock = folder.take();
    CHECK(fs::exists(folder.lock));
    const ProcessIdentity holder = ProcessIdentity::own();
    CHECK_THAT(folder.refusal(), Catch::Contains("host " + holder.host) &&
                                     Catch::Contains("process " + holder.process) &&
                                     Catch::Contains("started 2") && Catch::Contains("-d"));
  }
  CHECK_FALSE(fs::exists(folder.path));
  fs::create_directories(folder.path);
  { const FolderLock lock = folder.take(); }
  CHECK(fs::exists(folder.path));
  CHECK(fs::is_empty(folder.path));
  CHECK(folder.said.empty());
}

TEST_CASE("a killed holder's lock is taken over, before and after it was waited for") {
  Folder folder;
  const pid_t child = fixtures::start_child([&] {
    const FolderLock lock = folder.take();
    pause();
  });
  while (!fs::exists(folder.lock)) std::this_thread::sleep_for(milliseconds(1));
  kill(child, SIGKILL);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);  // a zombie from here on
  CHECK(folder.refusal().empty());
  fixtures::wait_for(child);
  CHECK(folder.refusal().empty());
  CHECK(folder.said.empty());
}

TEST_CASE("a number that another process has by now is no sign of life") {
  Folder folder;
  ProcessIdentity holder = ProcessIdentity::own();
  holder.start = "1";
  folder.leave(holder);
  CHECK(folder.refusal().empty());
  holder.process = "99999999";
  folder.leave(holder);
  CHECK(folder.refusal().empty());
  CHECK(folder.said.empty());
}

TEST_CASE("a holder elsewhere lives while its file's time goes on") {
  Folder folder;
  SECTION("it does not") {
    folder.leave(foreign());
    CHECK(folder.refusal().empty());
    CHECK_THAT(folder.said, Catch::Contains("host node7"));
  }
  SECTION("an empty file, of one that died while it wrote it, does not") {
    fs::create_directories(folder.path);
    std::ofstream(folder.lock).close();
    CHECK(folder.refusal().empty());
  }
  SECTION("it does, whatever its clock says") {
    folder.leave(foreign());
    std::jthread beating([&](const std::stop_token& stop) {
      for (timespec when[2] = {{1000, 0}, {1000, 0}}; !stop.stop_requested(); ++when[1].tv_sec) {
        utimensat(AT_FDCWD, folder.lock.c_str(), when, 0);
        std::this_thread::sleep_for(milliseconds(20));
      }
    });
    CHECK_THAT(folder.refusal(), Catch::Contains("host node7"));
    CHECK(fs::exists(folder.lock));
  }
}

TEST_CASE("a holder gives a sign of life, and puts back a lock that was removed") {
  Folder folder;
  const FolderLock lock = folder.take();
  const auto first = fs::last_write_time(folder.lock);
  std::this_thread::sleep_for(quick.silence / 2);
  CHECK(fs::last_write_time(folder.lock) > first);
  fs::remove(folder.lock);
  std::this_thread::sleep_for(quick.silence / 2);
  CHECK(fs::exists(folder.lock));
}

TEST_CASE("who was taken over while he stood still ends") {
  Folder folder;
  const pid_t child = fixtures::start_child([&] {
    const FolderLock lock = folder.take();
    pause();
  });
  while (!fs::exists(folder.lock)) std::this_thread::sleep_for(milliseconds(1));
  kill(child, SIGSTOP);
  fs::remove(folder.lock);
  folder.leave(foreign());
  kill(child, SIGCONT);
  const int status = fixtures::wait_for(child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 3);
  CHECK(folder.holder().host == "node7");
}

TEST_CASE("of many that come at once onto a dead one's lock, one gets it") {
  Folder folder;
  ProcessIdentity holder = ProcessIdentity::own();
  holder.start = "1";
  folder.leave(holder);
  const std::string go = folder.parent.file("go");
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(fixtures::start_child([&] {
      while (!fs::exists(go)) std::this_thread::sleep_for(milliseconds(1));
      try {
        const FolderLock lock = folder.take();
        // parent: the folder itself, `go` and the seven that were refused
        for (int wait = 0; wait < 20000 && folder.parent.entries() < 9; ++wait) {
          std::this_thread::sleep_for(milliseconds(1));
        }
      } catch (const Error&) {
        std::ofstream(folder.parent.file(std::to_string(getpid()))).close();
        _exit(3);
      }
    }));
  }
  std::ofstream(go).close();
  int winners = 0;
  for (const pid_t child : children) {
    const int status = fixtures::wait_for(child);
    REQUIRE(WIFEXITED(status));
    winners += WEXITSTATUS(status) == 0 ? 1 : 0;
  }
  CHECK(winners == 1);
  CHECK(fs::is_empty(folder.path));
}

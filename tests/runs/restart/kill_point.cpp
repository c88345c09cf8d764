#include "kill_point.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace kill_point {
namespace {

Plan plan;
std::string done;

bool counts(const std::string& path) {
  return !plan.folder.empty() && path.compare(0, plan.folder.size(), plan.folder) == 0;
}

std::string path_of(int descriptor) {
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = readlink(link.c_str(), path, sizeof path);
  return length < 0 ? "" : std::string(path, static_cast<std::size_t>(length));
}

bool is_now() { return plan.at > 0 && static_cast<long>(done.size()) >= plan.at; }

/// True where the call must fail, with errno set.
bool fails(char letter, const std::string& path) {
  if (!counts(path)) return false;
  done += letter;
  if (!is_now()) return false;
  if (plan.error == 0) kill(getpid(), SIGKILL);
  errno = plan.error;
  return true;
}

/// For LD_PRELOAD.
struct FromEnvironment {
  FromEnvironment() {
    const char* folder = std::getenv("LEXIKOS_KILL_FOLDER");
    const char* at = std::getenv("LEXIKOS_KILL_AT");
    if (folder != nullptr) plan.folder = folder;
    if (at != nullptr) plan.at = std::atol(at);
  }
  ~FromEnvironment() {
    const char* count = std::getenv("LEXIKOS_KILL_COUNT");
    if (count == nullptr || done.empty()) return;  // MPI's helpers are preloaded, too
    std::FILE* file = std::fopen(count, "w");
    if (file == nullptr) return;
    std::fprintf(file, "%zu\n", done.size());
    std::fclose(file);
  }
} from_environment;

}  // namespace

void set(const Plan& wanted) {
  plan = wanted;
  done.clear();
}

const std::string& calls() { return done; }

}  // namespace kill_point

using namespace kill_point;

extern "C" ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t at) {
  const std::string path = path_of(descriptor);
  const bool last = plan.half && static_cast<long>(done.size()) + 1 == plan.at;
  if (last && counts(path)) syscall(SYS_pwrite64, descriptor, bytes, count / 2, at);
  if (fails('w', path)) return -1;
  return syscall(SYS_pwrite64, descriptor, bytes, count, at);
}

extern "C" int ftruncate(int descriptor, off_t size) noexcept {
  if (fails('t', path_of(descriptor))) return -1;
  return static_cast<int>(syscall(SYS_ftruncate, descriptor, size));
}

extern "C" int fsync(int descriptor) {
  if (fails('s', path_of(descriptor))) return -1;
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}

extern "C" int rename(const char* from, const char* to) noexcept {
  if (fails('r', to)) return -1;
  return static_cast<int>(syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
}

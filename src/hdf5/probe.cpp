#include "hdf5/probe.hpp"

#include <fcntl.h>
#include <hdf5.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <set>
#include <tuple>
#include <vector>

#include "hdf5/file.hpp"
#include "utils/error.hpp"

extern char** environ;

namespace lexikos {
namespace {

constexpr const char* flag = "--lexikos-probe-hdf5";
/// What the process says when it has read everything.
constexpr const char* verdict = "whole";
constexpr rlim_t cpu_seconds = 1;
/// Objects of a file that are looked at, and bytes of all numbers in it that are not plain rows: an
/// intact file takes far less than the time.
constexpr std::size_t most_objects = 2000;
constexpr std::int64_t most_bytes = std::int64_t{1} << 26;

bool can_be_served = false;  // main has called serve_probe

// ---- the process that looks ----

/// One dataset that cannot be read is no matter to who reads the others.
template <class Look>
void may_fail(const Look& look) {
  try {
    look();
  } catch (const Error&) {
    return;
  }
}

template <class T>
void read_some(const Hdf5Reader& file, const std::string& name, const DatasetInfo& info) {
  if (info.shape.empty()) return;
  const std::int64_t rows = info.shape.front();
  const std::int64_t row = info.size() / rows;
  const std::int64_t most = most_bytes / static_cast<std::int64_t>(sizeof(T));
  if (row > most) return;
  const std::int64_t block = std::clamp<std::int64_t>(65536 / row, 1, rows);
  std::vector<T> values(static_cast<std::size_t>(block * row));
  for (std::int64_t at = 0; at < std::min(rows, most / row); at += block) {
    file.read_rows(name, at, std::min(block, rows - at), values.data());
  }
}

void look_at_dataset(const Hdf5Reader& file, const std::string& name) {
  const DatasetInfo info = file.info(name);
  if (info.size() == 0) return;
  using Kind = DatasetInfo::Kind;
  if (info.kind == Kind::string) {
    (void)file.read_strings(name);
  } else if (info.mappable_at >= 0 || info.kind == Kind::other) {
    return;
  } else if (info.kind == Kind::real) {
    read_some<double>(file, name, info);
  } else if (info.kind == Kind::unsigned_integer) {
    read_some<std::uint64_t>(file, name, info);
  } else {
    read_some<std::int64_t>(file, name, info);
  }
}

void look_at_file(const std::string& path) {
  const Hdf5Reader file(path);
  std::vector<std::string> left = {"/"};
  for (std::size_t seen = 0; !left.empty() && seen < most_objects; ++seen) {
    const std::string name = left.back();
    left.pop_back();
    (void)file.attributes(name);
    if (file.is_dataset(name)) {
      may_fail([&] { look_at_dataset(file, name); });
    } else if (file.is_group(name)) {
      for (const std::string& member : file.members(name)) {
        const std::string object = (name == "/" ? "" : name) + "/" + member;
        if (file.is_inside(object)) left.push_back(object);
      }
    }
  }
}

/// What is said of a file: `verdict`, or why it cannot be read.
std::string said_of(const std::string& path) {
  try {
    look_at_file(path);
    H5close();  // the library may crash here as well
    return verdict;
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Pages that this process may have in memory before it is ended: some loops of the library ask
/// for memory on and on. Where the memory that it asks for is refused it may go on as if a dataset
/// were damaged, so that a limit of the system would hide such a loop.
std::uint64_t most_pages = 0;
constexpr std::uint64_t most_memory = std::uint64_t{768} << 20;
constexpr int too_much_memory = 9;  // exit status

/// On a timer, at any moment: only system calls.
void check_memory(int) {
  char text[64] = {};
  const int descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  const ssize_t got = read(descriptor, text, sizeof text - 1);
  close(descriptor);
  if (got <= 0) return;
  const char* resident = std::strchr(text, ' ');  // the second number
  if (resident == nullptr) return;
  std::uint64_t pages = 0;
  for (++resident; *resident >= '0' && *resident <= '9'; ++resident) {
    pages = 10 * pages + static_cast<std::uint64_t>(*resident - '0');
  }
  if (pages > most_pages) _exit(too_much_memory);
}

void watch_memory(const std::string& path) {
  struct stat file {};
  stat(path.c_str(), &file);
  most_pages = (most_memory + static_cast<std::uint64_t>(file.st_size)) /
               static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::signal(SIGPROF, check_memory);
  const itimerval every{{0, 20000}, {0, 20000}};  // of computing
  setitimer(ITIMER_PROF, &every, nullptr);
}

void limit(int resource, rlim_t most) {
  const rlimit value{most, most};
  setrlimit(static_cast<__rlimit_resource_t>(resource), &value);
}

// ---- the process that asks ----

struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) fail(Status::resource, std::strerror(errno));
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(int which) {
    if (ends[which] >= 0) close(ends[which]);
    ends[which] = -1;
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
};

/// One thread and no core of its own: libraries that start threads when they are loaded should not.
std::vector<std::string> environment() {
  const std::vector<std::string> own = {"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1",
                                        "MALLOC_PERTURB_=165"};
  std::vector<std::string> all = own;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const bool ours = std::any_of(own.begin(), own.end(), [&](const std::string& one) {
      return text.compare(0, one.find('=') + 1, one, 0, one.find('=') + 1) == 0;
    });
    if (!ours) all.push_back(text);
  }
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// Starts this executable to look at `path`, with its output in the pipe. 0: it was started.
int start(const std::string& path, int output, pid_t* child) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::vector<std::string> words = {"lexikos", flag, path}, settings = environment();
  const int error = posix_spawn(child, "/proc/self/exe", &actions, &attributes,
                                pointers(words).data(), pointers(settings).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

/// Everything that the process says until it ends.
std::string read_all(int descriptor) {
  std::string text;
  char part[256];
  for (;;) {
    const ssize_t got = read(descriptor, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(part, static_cast<std::size_t>(got));
  }
}

/// How a process ended that did not say that all is well.
std::string end_of(int status) {
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)) {
    return "does not come to an end of it";
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == too_much_memory) {
    return "asks for ever more memory on it";
  }
  if (WIFSIGNALED(status)) {
    return std::string("crashes on it (") + strsignal(WTERMSIG(status)) + ")";
  }
  return "fails on it";
}

using Identity = std::tuple<dev_t, ino_t, off_t, time_t, long>;

Identity identity_of(const std::string& path) {
  struct stat s {};
  stat(path.c_str(), &s);
  return {s.st_dev, s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec};
}

}  // namespace

void serve_probe(int argc, char** argv) {
  if (argc != 3 || std::strcmp(argv[1], flag) != 0) {
    can_be_served = true;
    return;
  }
  limit(RLIMIT_CPU, cpu_seconds);
  limit(RLIMIT_CORE, 0);
  watch_memory(argv[2]);
  const std::string text = said_of(argv[2]);
  _exit(write(STDOUT_FILENO, text.data(), text.size()) > 0 ? 0 : 1);
}

void probe_hdf5(const std::string& path, const std::string& if_damaged) {
  static std::set<Identity> seen;
  const Identity now = identity_of(path);
  if (!can_be_served || seen.count(now) > 0) return;
  Pipe output;
  pid_t child = -1;
  const int error = start(path, output.ends[1], &child);
  if (error != 0) {
    fail(Status::resource, "cannot start a process to look at '" + path +
                               "' before it is opened: " + std::strerror(error));
  }
  output.close_end(1);
  const std::string said = read_all(output.ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (said == verdict) {
    seen.insert(now);
  } else if (said.empty()) {
    fail(Status::file, "cannot read '" + path + "': the HDF5 library " + end_of(status) +
                           ": the file is damaged; " + if_damaged);
  } else {
    fail(Status::file, said);
  }
}

}  // namespace lexikos

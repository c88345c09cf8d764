#include "utils/folder_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "utils/error.hpp"
#include "utils/process_identity.hpp"

namespace lexikos {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

/// An open file that closes itself.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags)
      : number_(open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0666)) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] bool valid() const { return number_ >= 0; }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

/// What a lock file shows: who holds it, and when it was touched last.
struct Sight {
  std::string text;
  timespec touched{};
  bool operator==(const Sight& other) const {
    return text == other.text && touched.tv_sec == other.touched.tv_sec &&
           touched.tv_nsec == other.touched.tv_nsec;
  }
};

/// Nothing, and errno, where it cannot be opened. Opened anew each time: so NFS asks its server.
std::optional<Sight> look(const std::string& path) {
  const Descriptor file(path, O_RDONLY);
  struct stat status {};
  if (!file.valid() || fstat(file.number(), &status) != 0) return std::nullopt;
  Sight sight;
  char bytes[4096];
  const ssize_t count = read(file.number(), bytes, sizeof bytes);
  if (count > 0) sight.text.assign(bytes, static_cast<std::size_t>(count));
  sight.touched = status.st_mtim;
  return sight;
}

bool write_text(const Descriptor& file, const std::string& text) {
  return file.valid() &&
         write(file.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// The folders above and including `path` that are not there, the lowest first.
std::vector<fs::path> missing_folders(const std::string& path) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path p = fs::path(path).lexically_normal(); !p.empty(); p = p.parent_path()) {
    if (!p.has_filename()) continue;
    if (fs::exists(p, error) || error) break;
    missing.push_back(p);
  }
  return missing;
}

std::string holder_text(const std::string& text) {
  const ProcessIdentity holder = ProcessIdentity::from(text);
  if (holder.host.empty()) return "a run that does not say who it is";
  return "a run on host " + holder.host + ", process " + holder.process + ", started " +
         holder.since;
}

}  // namespace

struct FolderLock::State {
  std::string folder, path;
  std::string own = ProcessIdentity::own().text();
  Times times;
  std::vector<fs::path> made;  // folders
  std::mutex mutex;
  std::condition_variable wake;
  bool ends = false;
  std::thread beating;

  [[nodiscard]] std::string beside(const char* what) const {
    const ProcessIdentity identity = ProcessIdentity::from(own);
    return path + "." + what + "." + identity.process + "-" + identity.mark;
  }

  void make_folder() {
    made = missing_folders(folder);
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) {
      fail(Status::file, "cannot make the output folder '" + folder + "': " + error.message() +
                             "; choose another with -d");
    }
  }

  [[noreturn]] void cannot_write(int reason) const {
    fail(Status::file, "cannot write '" + path + "': " + std::strerror(reason) +
                           "; choose another folder with -d");
  }

  /// Where there are no hard links: the file may be seen before it is written.
  bool create() const {
    const Descriptor file(path, O_WRONLY | O_CREAT | O_EXCL);
    if (!file.valid() && errno == EEXIST) return false;
    if (!write_text(file, own)) cannot_write(errno);
    return true;
  }

  /// Puts the lock there, unless one is.
  bool publish() const {
    const std::string temporary = beside("new");
    {
      const Descriptor file(temporary, O_WRONLY | O_CREAT | O_EXCL);
      if (!write_text(file, own)) {
        const int reason = errno;
        unlink(temporary.c_str());
        cannot_write(reason);
      }
    }
    const bool linked = link(temporary.c_str(), path.c_str()) == 0;
    const int reason = errno;
    struct stat status {};
    // NFS may lose the answer of a link that it made: the count of names knows.
    const bool there = linked || (stat(temporary.c_str(), &status) == 0 && status.st_nlink == 2);
    unlink(temporary.c_str());
    if (there || reason == EEXIST) return there;
    return create();
  }

  /// Whether a holder that cannot be looked up gives a sign of life; one that goes away has ended.
  bool beats(const Sight& first, const Say& say) const {
    say("'" + path + "' is of " + holder_text(first.text) + "; waiting up to " +
        std::to_string(std::chrono::duration_cast<std::chrono::seconds>(times.silence).count()) +
        " s to see whether it lives");
    const auto end = steady_clock::now() + times.silence;
    while (steady_clock::now() < end) {
      std::this_thread::sleep_for(std::min(times.beat / 3, times.silence / 3));
      const std::optional<Sight> now = look(path);
      if (!now) return false;
      if (!(*now == first)) return true;
    }
    return false;
  }

  void refuse_if_alive(const Sight& found, const Say& say) const {
    const std::optional<bool> lives = ProcessIdentity::from(found.text).lives();
    if (lives ? !*lives : !beats(found, say)) return;
    fail(Status::file, "'" + folder + "' is in use by " + holder_text(found.text) +
                           "; wait for it or end it, or choose another folder with -d");
  }

  /// Removes the lock of a dead holder; one that came in the meantime gets its name back.
  void retire(const std::string& dead) const {
    const std::string moved = beside("old");
    if (rename(path.c_str(), moved.c_str()) != 0) {
      if (errno == ENOENT) return;
      fail(Status::file, "cannot remove '" + path + "', which a run that has ended left: " +
                             std::strerror(errno) + "; remove it by hand");
    }
    const std::optional<Sight> taken = look(moved);
    if (taken && taken->text != dead) (void)!link(moved.c_str(), path.c_str());
    unlink(moved.c_str());
  }

  void take(const Say& say) {
    while (!publish()) {
      const std::optional<Sight> found = look(path);
      if (!found && errno != ENOENT) {
        fail(Status::file, "cannot read '" + path + "', the lock of another run: " +
                               std::strerror(errno) + "; choose another folder with -d");
      }
      if (!found) continue;
      refuse_if_alive(*found, say);
      retire(found->text);
    }
  }

  /// Ends the process where another one has the lock: both would write. Puts it back where somebody
  /// removed it.
  void check_own() const {
    const std::optional<Sight> seen = look(path);
    if (!seen) return put_back();
    if (seen->text.empty() || seen->text == own) return;
    std::fprintf(stderr,
                 "lexikos: error: '%s' was taken over by %s while this process stood still; its "
                 "checkpoints are whole, and that run goes on\n",
                 folder.c_str(), holder_text(seen->text).c_str());
    std::_Exit(static_cast<int>(Status::file));
  }

  void put_back() const {
    try {
      publish();
    } catch (const Error&) {  // the folder is gone or cannot be written: the next file will say so
    }
  }

  void beat() {
    std::unique_lock guard(mutex);
    while (!wake.wait_for(guard, times.beat, [this] { return ends; })) {
      check_own();
      utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
    }
  }

  void remove_folders() const {
    for (const fs::path& p : made) rmdir(p.c_str());  // only empty ones go
  }
};

FolderLock::FolderLock(const std::string& folder, const std::string& name, const Say& say,
                       const Times& times)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.folder = folder;
  s.path = folder + "/" + name;
  s.times = times;
  s.make_folder();
  try {
    s.take(say);
  } catch (...) {
    s.remove_folders();
    throw;
  }
  s.beating = std::thread([&s] { s.beat(); });
}

FolderLock::~FolderLock() {
  State& s = *state_;
  {
    const std::lock_guard guard(s.mutex);
    s.ends = true;
  }
  s.wake.notify_all();
  s.beating.join();
  const std::optional<Sight> seen = look(s.path);
  if (seen && seen->text == s.own) unlink(s.path.c_str());
  s.remove_folders();
}

}  // namespace lexikos

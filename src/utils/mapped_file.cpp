#include "utils/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>

#include "utils/error.hpp"

namespace lexikos {
namespace {

/// A file that is mapped now, as a signal handler may read it.
struct Mapped {
  std::atomic<const std::byte*> begin{nullptr};  // null: a free place
  std::uint64_t size = 0;
  const char* path = nullptr;
};

/// More files than these are mapped without the line below.
std::array<Mapped, 1024> mapped;
std::mutex mapped_mutex;

/// One line on stderr in one piece, since ranks share it.
void say(std::array<const char*, 3> parts) {
  std::array<iovec, 3> pieces{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    pieces[i] = {const_cast<char*>(parts[i]), std::strlen(parts[i])};
  }
  [[maybe_unused]] const auto ignored = writev(STDERR_FILENO, pieces.data(), pieces.size());
}

/// SIGBUS: a page of a mapped file is gone, since another program made the file shorter or its disk
/// failed. The read cannot go on, so the process ends here with the one line that says why.
void on_lost_page(int, siginfo_t* info, void*) {
  const auto* const at = static_cast<const std::byte*>(info->si_addr);
  for (const Mapped& file : mapped) {
    const std::byte* const begin = file.begin.load(std::memory_order_acquire);
    if (begin == nullptr || at < begin || at >= begin + file.size) continue;
    say({"lexikos: error: cannot read '", file.path,
         "': it became shorter, or its disk failed, while it was read; restore the file and "
         "restart\n"});
    _exit(static_cast<int>(Status::file));
  }
  std::signal(SIGBUS, SIG_DFL);  // no file of ours: the same instruction faults again
}

/// After MPI_Init, which sets handlers of its own: no file is mapped before.
void watch_for_lost_pages() {
  struct sigaction action {};
  action.sa_sigaction = on_lost_page;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

void remember(const std::byte* begin, std::uint64_t size, const std::string& path) {
  const std::lock_guard lock(mapped_mutex);
  static const bool watching = (watch_for_lost_pages(), true);
  static_cast<void>(watching);
  const auto place = std::find_if(mapped.begin(), mapped.end(), [](const Mapped& file) {
    return file.begin.load(std::memory_order_relaxed) == nullptr;
  });
  if (place == mapped.end()) return;
  place->size = size;
  place->path = path.c_str();
  place->begin.store(begin, std::memory_order_release);
}

void forget(const std::byte* begin) {
  const std::lock_guard lock(mapped_mutex);
  for (Mapped& file : mapped) {
    if (file.begin.load(std::memory_order_relaxed) == begin) file.begin.store(nullptr);
  }
}

}  // namespace

MappedFile::MappedFile(const std::string& path, const std::string& advice) : path_(path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) refuse(std::string(std::strerror(errno)) + "; " + advice);
  struct stat status {};
  const bool known = fstat(descriptor, &status) == 0;
  if (!known || !S_ISREG(status.st_mode) || status.st_size == 0) {
    close(descriptor);
    refuse(known && S_ISREG(status.st_mode) ? "the file is empty" : "it is no regular file");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
  void* base = mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0);
  const int reason = errno;
  close(descriptor);
  if (base == MAP_FAILED) refuse(std::string("it cannot be mapped: ") + std::strerror(reason));
  data_ = static_cast<const std::byte*>(base);
  remember(data_, size_, path_);
}

MappedFile::~MappedFile() {
  forget(data_);
  munmap(const_cast<std::byte*>(data_), size_);
}

std::string_view MappedFile::text(std::uint64_t begin, std::uint64_t count) const {
  if (begin >= size_) return {};
  return {reinterpret_cast<const char*>(data_) + begin, std::min(count, size_ - begin)};
}

void MappedFile::refuse(const std::string& what) const {
  fail(Status::file, "cannot read '" + path_ + "': " + what);
}

}  // namespace lexikos

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

// Of the address sanitizer, where a program has it.
extern "C" {
__attribute__((weak)) void __asan_poison_memory_region(const volatile void* begin,
                                                       std::size_t size);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void* begin,
                                                         std::size_t size);
}

namespace lexikos {
namespace {

/// Bytes from the end of a file to the end of its last page, which are mapped and read as zeros.
std::uint64_t past_end(std::uint64_t size) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return (page - size % page) % page;
}

/// A file that is mapped now, as a signal handler may read it.
struct Mapped {
  std::atomic<const std::byte*> begin{nullptr};  // null: a free place
  std::uint64_t size = 0;
  const char* path = nullptr;
};

/// Places for mapped files, and where more of them are: the list only grows, so that the handler
/// may walk it at any moment.
struct Places {
  std::array<Mapped, 64> places;
  std::atomic<Places*> more{nullptr};
};
Places first_places;
std::mutex places_mutex;

/// Calls look(file) for every place until it returns true; whether it did.
template <class Look>
bool any_place(const Look& look) {
  for (Places* p = &first_places; p != nullptr; p = p->more.load(std::memory_order_acquire)) {
    for (Mapped& file : p->places) {
      if (look(file)) return true;
    }
  }
  return false;
}

/// Under places_mutex.
void add_places() {
  Places* last = &first_places;
  while (last->more.load(std::memory_order_relaxed) != nullptr) last = last->more.load();
  last->more.store(new Places, std::memory_order_release);
}

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
  any_place([&](const Mapped& file) {
    const std::byte* const begin = file.begin.load(std::memory_order_acquire);
    if (begin == nullptr || at < begin || at >= begin + file.size) return false;
    say({"lexikos: error: cannot read '", file.path,
         "': it became shorter, or its disk failed, while it was read; restore the file and "
         "restart\n"});
    _exit(static_cast<int>(Status::file));
  });
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
  const std::lock_guard lock(places_mutex);
  static const bool watching = (watch_for_lost_pages(), true);
  static_cast<void>(watching);
  const auto take = [&](Mapped& file) {
    if (file.begin.load(std::memory_order_relaxed) != nullptr) return false;
    file.size = size;
    file.path = path.c_str();
    file.begin.store(begin, std::memory_order_release);
    return true;
  };
  if (any_place(take)) return;
  add_places();
  any_place(take);
}

void forget(const std::byte* begin) {
  const std::lock_guard lock(places_mutex);
  any_place([&](Mapped& file) {
    const bool found = file.begin.load(std::memory_order_relaxed) == begin;
    if (found) file.begin.store(nullptr);
    return found;
  });
}

}  // namespace

MappedFile::MappedFile(const std::string& path, const std::string& advice) : path_(path) {
  if (path.find('\0') != std::string::npos) refuse("its name has a zero byte; " + advice);
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
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
  if (__asan_poison_memory_region) __asan_poison_memory_region(data_ + size_, past_end(size_));
  remember(data_, size_, path_);
}

MappedFile::~MappedFile() {
  forget(data_);
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(data_ + size_, past_end(size_));
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

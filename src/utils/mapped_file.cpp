#include "utils/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "utils/error.hpp"

namespace lexikos {

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
}

MappedFile::~MappedFile() { munmap(const_cast<std::byte*>(data_), size_); }

std::string_view MappedFile::text(std::uint64_t begin, std::uint64_t count) const {
  if (begin >= size_) return {};
  return {reinterpret_cast<const char*>(data_) + begin, std::min(count, size_ - begin)};
}

void MappedFile::refuse(const std::string& what) const {
  fail(Status::file, "cannot read '" + path_ + "': " + what);
}

}  // namespace lexikos

#include "utils/file_extent.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "utils/error.hpp"

namespace lexikos {
namespace {

/// Sizes are kept in signed 64 bits.
constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();

constexpr const char* damaged = ": it is damaged; copy or prepare it again";

}  // namespace

FileExtent::FileExtent(const std::string& path) : path_(path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) refuse(std::strerror(errno));
  bytes_ = static_cast<std::uint64_t>(status.st_size);
}

void FileExtent::refuse(const std::string& what) const {
  fail(Status::file, "cannot read '" + path_ + "': " + what);
}

std::uint64_t FileExtent::times(const std::string& what, std::uint64_t a, std::uint64_t b) const {
  if (a > most || b > most || (a != 0 && b > most / a)) {
    refuse(what + " multiply " + std::to_string(a) + " by " + std::to_string(b) +
           ", which is 2^63 or more" + damaged);
  }
  return a * b;
}

std::int64_t FileExtent::product(const std::string& what,
                                 std::initializer_list<std::uint64_t> factors) const {
  return product<std::initializer_list<std::uint64_t>>(what, factors);
}

std::int64_t FileExtent::sum(const std::string& what, std::uint64_t a, std::uint64_t b) const {
  if (a > most || b > most - a) {
    refuse(what + " add " + std::to_string(a) + " and " + std::to_string(b) +
           ", which is 2^63 or more" + damaged);
  }
  return static_cast<std::int64_t>(a + b);
}

void FileExtent::require_inside(const std::string& what, std::uint64_t begin, std::uint64_t count,
                                std::uint64_t bytes_each) const {
  if (begin <= bytes_ && (bytes_each == 0 || count <= (bytes_ - begin) / bytes_each)) return;
  refuse(what + " should have " + std::to_string(count) + " times " + std::to_string(bytes_each) +
         " bytes from byte " + std::to_string(begin) + " on, and the file ends at byte " +
         std::to_string(bytes_) + ": it is truncated or damaged; copy or prepare it again");
}

}  // namespace lexikos

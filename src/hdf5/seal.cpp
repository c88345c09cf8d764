#include "hdf5/seal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <tuple>
#include <vector>

#include "utils/crc64.hpp"
#include "utils/error.hpp"

namespace lexikos {
namespace {

constexpr char mark[9] = "LXKSEAL\n";

void put(std::string& out, std::uint64_t value) {
  for (int k = 0; k < 8; ++k) out.push_back(static_cast<char>(value >> (8 * k) & 0xff));
}

std::string seal_text(std::uint64_t length, std::uint64_t checksum) {
  std::string seal(mark, 8);
  put(seal, 0);
  put(seal, length);
  put(seal, checksum);
  return seal;
}

/// Reads bytes [begin, begin + count) of a file; fewer where it ends before.
std::size_t read_at(int descriptor, std::uint64_t begin, std::size_t count, char* out,
                    const std::string& path) {
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got =
        pread(descriptor, out + done, count - done, static_cast<off_t>(begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(Status::file, "cannot read '" + path + "': " + std::strerror(errno));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

/// An open file for the time of a check.
struct Opened {
  int descriptor;
  explicit Opened(const std::string& path) : descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor < 0) fail(Status::file, "cannot read '" + path + "': " + std::strerror(errno));
  }
  ~Opened() { close(descriptor); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
};

/// Files of this size and more are compared once while they stay as they are: several readers of a
/// checkpoint of many gigabytes should not each read all of it first.
constexpr off_t remembered_from = off_t{1} << 26;

using Identity = std::tuple<dev_t, ino_t, off_t, time_t, long>;
std::set<Identity> known_whole;  // HDF5 bears only one thread

Identity identity_of(int descriptor) {
  struct stat s {};
  fstat(descriptor, &s);
  return {s.st_dev, s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec};
}

}  // namespace

std::string seal_of(int descriptor, std::uint64_t length, const std::string& path) {
  std::vector<char> block(static_cast<std::size_t>(
      std::min(std::uint64_t{8} << 20, std::max<std::uint64_t>(length, 1))));
  std::uint64_t checksum = 0;
  for (std::uint64_t at = 0; at < length;) {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(block.size(), length - at));
    const std::size_t got = read_at(descriptor, at, wanted, block.data(), path);
    if (got == 0) break;
    checksum = crc64(block.data(), got, checksum);
    at += got;
  }
  return seal_text(length, checksum);
}

bool has_seal(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const off_t size = lseek(descriptor, 0, SEEK_END);
  char found[8] = {};
  const bool whole =
      size >= off_t{seal_bytes} && pread(descriptor, found, 8, size - off_t{seal_bytes}) == 8;
  close(descriptor);
  return whole && std::memcmp(found, mark, 8) == 0;
}

void check_seal(const std::string& path, const std::string& advice) {
  const Opened file(path);
  const Identity identity = identity_of(file.descriptor);
  if (known_whole.count(identity) > 0) return;
  const off_t size = lseek(file.descriptor, 0, SEEK_END);
  std::string found(seal_bytes, '\0');
  const std::uint64_t length =
      size < off_t{seal_bytes} ? 0 : static_cast<std::uint64_t>(size) - seal_bytes;
  read_at(file.descriptor, length, found.size(), found.data(), path);
  if (found.compare(0, 8, mark) != 0) {
    fail(Status::file,
         "'" + path + "' has no checksum at its end: it is cut off or was changed; " + advice);
  }
  if (found != seal_of(file.descriptor, length, path)) {
    fail(Status::file, "'" + path +
                           "' is damaged: its bytes do not have the checksum that was "
                           "written with them; " +
                           advice);
  }
  if (size >= remembered_from) known_whole.insert(identity);
}

}  // namespace lexikos

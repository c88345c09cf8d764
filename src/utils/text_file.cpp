#include "utils/text_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "utils/error.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

constexpr int patience = 3000;  // milliseconds

/// A file open for reading, without waiting for the other end of a pipe.
class Input {
 public:
  explicit Input(const std::string& path)
      : path_(path), number_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (number_ < 0) refuse(errno == ENOENT ? "is not there" : unreadable());
    struct stat status {};
    if (fstat(number_, &status) == 0 && S_ISDIR(status.st_mode)) refuse("is a directory");
  }
  ~Input() {
    if (number_ >= 0) close(number_);
  }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  [[noreturn]] void refuse(const std::string& what) {
    if (number_ >= 0) close(number_);
    number_ = -1;
    fail(Status::file, "'" + path_ + "' " + what);
  }

  /// Adds what comes next to `text`; false at the end.
  bool add(std::string& text) {
    pollfd input = {number_, POLLIN, 0};
    if (poll(&input, 1, patience) == 0) refuse("is a pipe or device from which nothing comes");
    char bytes[65536];
    const ssize_t count = read(number_, bytes, sizeof bytes);
    if (count < 0 && errno != EINTR && errno != EAGAIN) refuse(unreadable());
    if (count > 0) text.append(bytes, static_cast<std::size_t>(count));
    return count != 0;
  }

 private:
  static std::string unreadable() { return std::string("cannot be read: ") + std::strerror(errno); }

  const std::string& path_;
  int number_;
};

}  // namespace

std::string read_text(const std::string& path, std::size_t most_bytes) {
  Input input(path);
  std::string text;
  while (input.add(text)) {
    if (text.size() > most_bytes) input.refuse("has more than " + format_bytes(most_bytes));
  }
  return text;
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) fail(Status::file, "cannot write '" + path + "'; is the disk full?");
}

}  // namespace lexikos

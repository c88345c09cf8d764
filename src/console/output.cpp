#include "console/output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace lexikos {
namespace {

int first_failure = 0;  // errno

/// A descriptor shared with another program may not wait by itself. False where it cannot be waited
/// for.
bool wait_for_room() {
  pollfd output = {STDOUT_FILENO, POLLOUT, 0};
  return poll(&output, 1, -1) > 0;
}

/// errno of the failure, 0 where all was written.
int write_all(const char* next, std::size_t count) {
  while (count > 0) {
    const ssize_t done = write(STDOUT_FILENO, next, count);
    if (done >= 0) {
      next += done;
      count -= static_cast<std::size_t>(done);
    } else if (errno != EINTR && (errno != EAGAIN || !wait_for_room())) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

void open_standard_descriptors() {
  // open() gives the lowest number that is free: once it is above 2, none of the three is.
  int opened = 0;
  while (opened >= 0 && opened <= STDERR_FILENO) opened = open("/dev/null", O_RDWR);
  if (opened > STDERR_FILENO) close(opened);
}

void let_writes_fail() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void write_output(const std::string& text) {
  std::fflush(stdout);  // what a library has printed comes before
  const int failure = write_all(text.data(), text.size());
  if (first_failure == 0 && failure != EPIPE) first_failure = failure;
}

std::string output_failure() { return first_failure == 0 ? "" : std::strerror(first_failure); }

}  // namespace lexikos

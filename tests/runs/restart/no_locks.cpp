// A file system without locks, as LD_PRELOAD: flock fails as it does on some mounts of Lustre and
// NFS.
#include <sys/file.h>

#include <cerrno>

extern "C" int flock(int, int) noexcept {
  errno = ENOSYS;
  return -1;
}

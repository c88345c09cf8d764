// Work in a copy of this process, for what ends a process or dies with it.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

namespace fixtures {

/// Starts a copy of this process that does `work` and then ends with status 0.
template <class Work>
pid_t start_child(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  return child;
}

/// Waits for a child to end; its status as waitpid gives it (for WIFEXITED and the like).
inline int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

/// The status with which a copy of this process that does `work` ends.
template <class Work>
int status_of_child(const Work& work) {
  return wait_for(start_child(work));
}

}  // namespace fixtures

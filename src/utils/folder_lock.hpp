// One process at a time writes a kind of files into a folder, on local discs, NFS and Lustre.
//
// The lock is a file that appears whole (link(2)) and says who holds it; file locks of the system
// are not used, since cluster file systems have none or keep them to one host. Who finds one asks
// whether its holder lives: a process of this machine is looked up by number and start time; of
// another machine or container it is watched whether the file's time goes on, which the holder
// sets every few seconds. Clocks are never compared. What a dead holder left is taken over.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace lexikos {

class FolderLock {
 public:
  struct Times {
    std::chrono::milliseconds beat{3000};      ///< between two signs of life
    std::chrono::milliseconds silence{30000};  ///< without one, a holder elsewhere is dead
  };
  using Say = std::function<void(const std::string& line)>;

  /// Makes `folder` and those above it, and takes its lock `name` ("train.lock"). `say` hears where
  /// that takes `silence`. Throws Error(file), naming host, process and start of a holder that
  /// lives, or the system's reason why the folder cannot be written.
  FolderLock(const std::string& folder, const std::string& name, const Say& say,
             const Times& times);
  FolderLock(const std::string& folder, const std::string& name, const Say& say)
      : FolderLock(folder, name, say, Times{}) {}

  /// Gives it up, and removes the folders that it made and that are empty. A process that stood
  /// still so long that another took its lock over ends with a line and Status::file as soon as it
  /// goes on.
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lexikos

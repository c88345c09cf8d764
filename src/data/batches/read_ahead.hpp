// A thread that puts the next step's batch together while the main one computes.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "utils/share.hpp"

namespace lexikos {

/// Runs `prepare(samples)` for one share of samples at a time on a thread of its own. `prepare`
/// must not use Kokkos kernels, MPI or HDF5. The destructor waits for the work under way and joins
/// the thread, so it is gone on every way out, an exception's too. The methods are for one thread.
class ReadAhead {
 public:
  explicit ReadAhead(std::function<void(Share samples)> prepare);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Begins; nothing may be under way.
  void start(Share samples);
  /// Waits for what was started. True if that were these samples, and then throws what `prepare`
  /// threw; false, and nothing thrown, if it were others or nothing.
  bool finish(Share samples);

 private:
  void run();

  std::function<void(Share)> prepare_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Share> asked_;  // set by start, taken by the thread
  std::optional<Share> done_;   // set by the thread, taken by finish
  bool busy_ = false;           // between start and finish
  bool ends_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace lexikos

#include "data/batches/read_ahead.hpp"

#include <utility>

namespace lexikos {

ReadAhead::ReadAhead(std::function<void(Share samples)> prepare)
    // Stop signals are held back on the thread that makes this one, and so on this one too.
    : prepare_(std::move(prepare)), thread_([this] { run(); }) {}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ReadAhead::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return asked_ || ends_; });
    if (ends_) return;
    const Share samples = *std::exchange(asked_, std::nullopt);
    lock.unlock();
    std::exception_ptr failure;
    try {
      prepare_(samples);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    done_ = samples;
    changed_.notify_all();
  }
}

void ReadAhead::start(Share samples) {
  {
    const std::lock_guard lock(mutex_);
    asked_ = samples;
    busy_ = true;
  }
  changed_.notify_all();
}

bool ReadAhead::finish(Share samples) {
  std::unique_lock lock(mutex_);
  if (!busy_) return false;
  changed_.wait(lock, [this] { return done_.has_value(); });
  busy_ = false;
  const bool wanted = *std::exchange(done_, std::nullopt) == samples;
  const std::exception_ptr failure = std::exchange(failure_, nullptr);
  if (wanted && failure) std::rethrow_exception(failure);
  return wanted;
}

}  // namespace lexikos

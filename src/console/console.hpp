// What a run prints: step lines (key=value, greppable), a progress bar on a terminal, summaries.
#pragma once

#include <chrono>
#include <string>

#include "kokkos_types.hpp"

namespace lexikos {

/// Seconds since construction.
class Clock {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// The numbers of a step line.
struct StepLine {
  Index step = 0, steps = 0, tokens = 0;
  double loss = 0, learning_rate = 0, gradient_norm = 0, tokens_per_second = 0;
  double data_seconds = 0;  // that the step waited for its batch
  double gemm_share = 0;    // of the measured GEMM rate; NaN where it was not measured
};

/// Prints from one rank; other ranks' consoles are silent.
class Console {
 public:
  /// `prefix` stands before each line where several members print at once.
  explicit Console(bool speaks, std::string prefix = "");
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void line(const std::string& text);
  void step(const StepLine& line);
  /// Redraws the bar where stdout is a terminal, at most ten times a second.
  void progress(Index done, Index total, double seconds);

 private:
  void clear_bar();

  bool speaks_, terminal_, bar_shown_ = false;
  std::string prefix_;
  Clock since_start_;
  double last_bar_ = -1.0;
};

}  // namespace lexikos

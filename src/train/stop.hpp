// What is asked of a run between two steps: to stop, or to write its files now.
#pragma once

#include <optional>
#include <string>

#include "console/console.hpp"
#include "parallel/communicator.hpp"

namespace lexikos {

class Stop {
 public:
  /// A file `output_now` in `folder` asks for output. The run must end within `wall_limit` seconds
  /// on `wall_clock`. Both arguments by reference must outlive this object.
  Stop(const Communicator& comm, const std::string& folder, const Clock& wall_clock,
       std::optional<double> wall_limit);

  /// Asks anew; collective. To stop is asked for by a signal (train/stop_signal.hpp), which may
  /// reach any rank, and where `seconds`, which one step more and the end after it would take, do
  /// not fit into what is left of the wall limit. Looks at the folder at most once a second.
  void ask(double seconds);

  /// What the last question found, the same on every rank.
  bool stops() const { return signal_ != 0 || out_of_time_; }
  bool wants_output() const { return wants_output_; }

  /// "SIGTERM" or "wall-time limit": why it stops.
  std::string why() const;

  /// Removes the file output_now, on the root: what it asked for is there.
  void output_is_there() const;

 private:
  const Communicator& comm_;
  std::string file_;
  const Clock& wall_clock_;
  std::optional<double> wall_limit_;
  Clock since_look_;
  int signal_ = 0;
  bool out_of_time_ = false, wants_output_ = false;
};

}  // namespace lexikos

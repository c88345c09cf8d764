#include "train/stop.hpp"

#include <filesystem>
#include <vector>

#include "train/stop_signal.hpp"
#include "utils/paths.hpp"

namespace lexikos {

Stop::Stop(const Communicator& comm, const std::string& folder, const Clock& wall_clock,
           std::optional<double> wall_limit)
    : comm_(comm),
      file_(folder + "/output_now"),
      wall_clock_(wall_clock),
      wall_limit_(wall_limit) {}

void Stop::ask(double seconds) {
  std::vector<double> asked(3, 0.0);
  // All ranks must do the same, so the root's clock and folder decide.
  if (comm_.is_root()) {
    if (wall_limit_ && wall_clock_.seconds() + seconds > *wall_limit_) asked[0] = 1;
    if (since_look_.seconds() > 1.0) {  // file systems of clusters do not like to be asked often
      since_look_ = Clock();
      std::error_code unknown;
      if (std::filesystem::exists(file_, unknown)) asked[1] = 1;
    }
  }
  asked[2] = stop_signal();
  comm_.max(asked);
  out_of_time_ = asked[0] > 0;
  wants_output_ = asked[1] > 0;
  signal_ = static_cast<int>(asked[2]);
}

std::string Stop::why() const { return signal_ != 0 ? signal_name(signal_) : "wall-time limit"; }

void Stop::output_is_there() const {
  comm_.on_root([&] { remove_file(file_); });
}

}  // namespace lexikos

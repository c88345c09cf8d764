#include "emulation/lanes.hpp"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace lexikos::emulation {
namespace {

constexpr int lane_count = 3;  // odd, so that halves and strides do not happen to fit
constexpr std::size_t stack_bytes = 256 << 10;

[[noreturn]] void end(const char* what, const char* label) {
  std::fprintf(stderr, "\nlexikos: emulated device: %s '%s'\n", what, label);
  std::abort();
}

/// The lanes of one team on one thread.
class Team : public Turns {
 public:
  Team() {
    for (int lane = 0; lane < lane_count; ++lane) start(lane);
  }

  void run(const char* label, const std::function<void(Turns&)>& body) {
    label_ = label;
    body_ = &body;
    ended_.fill(false);
    for (int ended = 0; ended < lane_count;) {
      ended = 0;
      for (lane_ = lane_count - 1; lane_ >= 0; --lane_) {
        swapcontext(&scheduler_, &contexts_[lane_]);
        ended += ended_[lane_] ? 1 : 0;
      }
      if (ended > 0 && ended < lane_count) end("a barrier that not every lane reaches, in", label_);
    }
  }

  int lane() const override { return lane_; }
  int lanes() const override { return lane_count; }
  void barrier() override { swapcontext(&contexts_[lane_], &scheduler_); }
  double& share(int lane) override { return shared_[lane]; }

 private:
  void start(int lane) {
    stacks_[lane].resize(stack_bytes);
    getcontext(&contexts_[lane]);
    contexts_[lane].uc_stack.ss_sp = stacks_[lane].data();
    contexts_[lane].uc_stack.ss_size = stack_bytes;
    contexts_[lane].uc_link = nullptr;
    makecontext(&contexts_[lane], &Team::enter, 0);
  }
  static void enter();

  const char* label_ = "";
  const std::function<void(Turns&)>* body_ = nullptr;
  int lane_ = 0;  // whose turn it is
  ucontext_t scheduler_;
  std::array<ucontext_t, lane_count> contexts_;
  std::array<std::vector<char>, lane_count> stacks_;
  std::array<double, lane_count> shared_{};
  std::array<bool, lane_count> ended_{};
};

Team& team() {
  thread_local const std::unique_ptr<Team> mine = std::make_unique<Team>();
  return *mine;
}

void Team::enter() {
  Team& mine = team();
  for (;;) {  // one team after the other
    (*mine.body_)(mine);
    mine.ended_[mine.lane_] = true;
    mine.barrier();
  }
}

}  // namespace

bool lanes_take_turns() {
  static const bool turns = [] {
    const char* const word = std::getenv("LEXIKOS_EMULATED_LANES");
    const std::string kind = word == nullptr ? "threads" : word;
    if (kind != "threads" && kind != "turns") {
      end("LEXIKOS_EMULATED_LANES is threads or turns, not", kind.c_str());
    }
    return kind == "turns";
  }();
  return turns;
}

int team_lanes() { return std::min(2, Kokkos::DefaultExecutionSpace().concurrency()); }

void take_turns(const char* label, const std::function<void(Turns&)>& body) {
  team().run(label, body);
}

}  // namespace lexikos::emulation

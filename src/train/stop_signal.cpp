#include "train/stop_signal.hpp"

#include <csignal>
#include <ctime>
#include <initializer_list>

namespace lexikos {
namespace {

int received = 0;

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

const std::initializer_list<int> stop_signals = {SIGTERM, SIGINT, SIGUSR1};

}  // namespace

void hold_stop_signals() {
  const sigset_t set = set_of(stop_signals);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void release_stop_signals() {
  const sigset_t set = set_of(stop_signals);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

int stop_signal() {
  const sigset_t set = set_of(stop_signals);
  const timespec at_once = {0, 0};
  const int signal = sigtimedwait(&set, nullptr, &at_once);
  if (signal <= 0) return received;
  received = signal;
  if (signal == SIGINT) {
    const sigset_t interrupt = set_of({SIGINT});
    pthread_sigmask(SIG_UNBLOCK, &interrupt, nullptr);
  }
  return received;
}

std::string signal_name(int signal) {
  switch (signal) {
    case SIGTERM:
      return "SIGTERM";
    case SIGINT:
      return "SIGINT";
    case SIGUSR1:
      return "SIGUSR1";
    default:
      return "signal " + std::to_string(signal);
  }
}

}  // namespace lexikos

#include "train/stop_signal.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

namespace lexikos {
namespace {

using std::chrono::steady_clock;

constexpr int stop_signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
/// Between two signals of a kind that are meant as two.
constexpr std::chrono::milliseconds echo{500};

std::atomic<bool> held = false;
std::atomic<int> received = 0;

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// As any program ends that does not know the signal.
void end_by(int signal) {
  std::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  std::raise(signal);
}

/// Waits for the blocked signals of `set` as long as the process lives.
void watch(sigset_t set) {
  steady_clock::time_point last[NSIG] = {};
  bool came[NSIG] = {};
  for (int signal = 0;;) {
    if (sigwait(&set, &signal) != 0) continue;
    const auto now = steady_clock::now();
    if (!held) {
      if (!is_ignored(signal)) end_by(signal);
    } else if (signal != SIGUSR1 && came[signal] && now - last[signal] > echo) {
      end_by(signal);
    } else {
      received = signal;
      if (!came[signal]) last[signal] = now;
      came[signal] = true;
    }
  }
}

}  // namespace

void watch_stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : stop_signals) {
    // A signal that is ignored is kept all the same while it is blocked.
    if (signal != SIGHUP || !is_ignored(signal)) sigaddset(&set, signal);
  }
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread(watch, set).detach();
}

void hold_stop_signals() { held = true; }

void release_stop_signals() { held = false; }

int stop_signal() { return received; }

std::string signal_name(int signal) {
  switch (signal) {
    case SIGTERM:
      return "SIGTERM";
    case SIGINT:
      return "SIGINT";
    case SIGHUP:
      return "SIGHUP";
    case SIGUSR1:
      return "SIGUSR1";
    default:
      return "signal " + std::to_string(signal);
  }
}

}  // namespace lexikos

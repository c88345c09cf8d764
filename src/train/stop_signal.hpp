// Signals that ask a run to end: batch systems send them before the time is up.
//
// They are blocked in every thread but one of their own, which waits for them; there is no handler.
// A handler would run on the stack of whatever thread it interrupts, and oneDNN's generated code
// uses its stack pointer for other things while it multiplies: the handler's frame would land in
// the heap.
#pragma once

#include <string>

namespace lexikos {

/// Watches SIGTERM, SIGINT, SIGHUP and SIGUSR1 from here on. Call it first of all, before MPI and
/// Kokkos make threads, which inherit what is blocked. Each ends the process at once as it does
/// other programs, a hung one too, unless they are held. SIGHUP stays ignored
/// where it was (nohup).
void watch_stop_signals();

/// From here on, where a checkpoint can follow, a signal is kept for stop_signal(). A second
/// SIGTERM, SIGINT or SIGHUP of the same kind ends the process at once: it hangs. (Not within half
/// a second: `timeout` and launchers send the same one twice.)
void hold_stop_signals();

/// From here on signals end the process again: the next member of a sweep reads its inputs.
void release_stop_signals();

/// The signal that has come while they were held, 0 where none has.
int stop_signal();

/// "SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"; "signal 7" for others.
std::string signal_name(int signal);

}  // namespace lexikos

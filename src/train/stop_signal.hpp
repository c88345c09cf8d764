// Signals that ask a run to end: batch systems send them before the time is up.
//
// They are blocked and asked for between two steps; there is no handler. A handler would run on the
// stack of whatever thread it interrupts, and oneDNN's generated code uses its stack pointer for
// other things while it multiplies: the handler's frame would land in the heap.
#pragma once

#include <string>

namespace lexikos {

/// Holds SIGTERM, SIGINT and SIGUSR1 back. Call it before MPI and Kokkos make threads, which
/// inherit it; a thread without it would let them end the process.
void hold_stop_signals();

/// Lets them end the process again, as programs that do not ask for them should.
void release_stop_signals();

/// The signal that has come, 0 where none has. Call it on the thread that held them. Once SIGINT
/// has come, a second one ends the process at once.
int stop_signal();

/// "SIGTERM", "SIGINT", "SIGUSR1"; "signal 7" for others.
std::string signal_name(int signal);

}  // namespace lexikos

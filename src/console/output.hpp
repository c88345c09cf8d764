// Standard output and the other two descriptors that a program is started with: they may be closed,
// full, or go away in mid-run, and nothing of that may end a run or spoil its files.
#pragma once

#include <string>

namespace lexikos {

/// Opens /dev/null where descriptor 0, 1 or 2 is closed, so that no file gets its number. Call it
/// before anything opens a file.
void open_standard_descriptors();

/// Lets a write to a pipe that nobody reads, or past a limit of file size, fail instead of ending
/// the process. Call it after MPI_Init, which may decide otherwise.
void let_writes_fail();

/// Writes to standard output at once. What cannot be written is lost.
void write_output(const std::string& text);

/// Why standard output has lost something: the system's first reason; "" where nothing was lost. A
/// reader who went away (`| head`) has read what he wanted, and loses nothing.
std::string output_failure();

}  // namespace lexikos

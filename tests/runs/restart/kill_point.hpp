// The system calls by which a file of a folder comes into being (pwrite, ftruncate, fsync, rename)
// are counted, and one of them is the last, or fails and those after it.
//
// The functions of kill_point.cpp stand before the C library's, in a test program that is linked
// with it or in any program that starts with it as LD_PRELOAD; the code under test is untouched. In
// the latter case the environment says what to do:
//   LEXIKOS_KILL_FOLDER   files below this folder count
//   LEXIKOS_KILL_AT       number of the call, from 1, at which the process kills itself (SIGKILL)
//   LEXIKOS_KILL_COUNT    file that gets the number of calls when the process ends by itself
#pragma once

#include <string>

namespace kill_point {

struct Plan {
  std::string folder;
  long at = 0;        ///< number of the call, from 1; 0: none
  bool half = false;  ///< a pwrite that is the last does half of its work first
  int error = 0;      ///< errno that the call and those after it fail with; 0: SIGKILL
};

/// From here on, with the counting begun anew.
void set(const Plan& plan);

/// A letter for each call since then: w(rite), t(runcate), s(ync), r(ename).
const std::string& calls();

}  // namespace kill_point

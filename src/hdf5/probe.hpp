// A look at an HDF5 file from a process of its own, before this one opens it.
//
// Why: on damaged files the HDF5 library itself can crash or go round for ever (its global heap,
// where texts of variable length lie, in 1.10.8; others have others). A seal (seal.hpp) finds what
// changed since a file was written, but files of other programs have none. So this executable is
// started once more, opens the file, reads all of it that the library has to interpret (names,
// attributes, texts, and numbers that are not plain rows), and ends. Only a file that survives this
// is opened here. An intact file costs about 15 ms.
#pragma once

#include <string>

namespace lexikos {

/// First in main, before MPI: where this process was started to look at a file, does that and ends.
/// A program that never calls it opens files without the look.
void serve_probe(int argc, char** argv);

/// Throws Error(file) where HDF5 crashes on the file or does not come to an end of it within
/// seconds of computing; `if_damaged` ends the message. Error(resource) where no process can be
/// started. A file that has not changed is looked at once.
void probe_hdf5(const std::string& path, const std::string& if_damaged);

}  // namespace lexikos

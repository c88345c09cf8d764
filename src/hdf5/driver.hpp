// The file driver of Hdf5Writer: bytes go to a descriptor of ours, and HDF5 never sees a write
// fail.
//
// Why: a library whose write fails (disk full, quota, file-size limit) cannot close the file any
// more, and crashes in the next call or at exit (HDF5 1.10.8, measured), so the exit status that
// the batch system needs is lost. Here the first failure is remembered, later bytes are dropped,
// and the writer reports it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "hdf5/detail.hpp"

namespace lexikos::detail {

/// An open file being written. Must outlive the HDF5 file built on it.
struct OutputDescriptor {
  int descriptor = -1;
  int error = 0;          ///< errno of the first failure; 0: none so far
  std::uint64_t end = 0;  ///< bytes the file has, or would have without the failure

  /// Writes all bytes or remembers why not.
  void write(std::uint64_t offset, const void* bytes, std::size_t count);
  void resize(std::uint64_t size);
};

/// A file access list that sends H5Fcreate's bytes to `file`.
Handle output_access_list(OutputDescriptor* file);

}  // namespace lexikos::detail

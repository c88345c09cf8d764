// Checkpoints: everything a run needs to go on as if it had not stopped, in checkpoint_<step>.h5.
//
// Written by one rank, whole or not at all, from host memory or, what it has not, piece by piece.
// README.md has the layout. Scalar is float or double: the type of the master weights and moments.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "hdf5/attributes.hpp"
#include "outputs/history.hpp"

namespace lexikos {

/// Newest format version of checkpoint files that is written and read.
inline constexpr std::int64_t checkpoint_format_version = 2;
/// The first version that must have a seal (hdf5/seal.hpp).
inline constexpr std::int64_t checkpoint_sealed_from = 2;

/// An array with a name and a shape, rows contiguous: in host memory, or, where `data` is
/// null, one that goes through a buffer some rows at a time. T may be const: such are written.
template <class T>
struct NamedArray {
  using PassRows =
      std::function<void(std::int64_t begin, std::int64_t rows, std::remove_const_t<T>* buffer)>;
  std::string name;  ///< "transformer.0.attention.qkv"; no '/'
  std::vector<std::int64_t> shape;
  T* data = nullptr;
  /// To write it: fills the buffer with rows [begin, begin + rows). When it is read: takes them.
  PassRows pass_rows{};
  /// When it is read: the rows [first, last) that are wanted.
  std::int64_t first = 0, last = 0;
};

/// Elements of the buffer that such arrays go through; a row that is longer makes it longer.
inline constexpr std::int64_t pass_elements = std::int64_t{1} << 22;

/// The state of a run: the same names and shapes three times. T is const Scalar to write.
template <class T>
struct StateArrays {
  std::vector<NamedArray<T>> parameters;
  std::vector<NamedArray<T>> moment1;  ///< AdamW's mean of gradients
  std::vector<NamedArray<T>> moment2;  ///< AdamW's mean of squared gradients
};

/// What a checkpoint says about itself.
struct CheckpointHeader {
  std::int64_t step = 0;    ///< optimiser steps done; also the data cursor
  std::int64_t tokens = 0;  ///< target tokens trained on
  std::int64_t seed = 0;
  std::string deck;  ///< resolved deck, TOML
  std::string code_version;
  std::string member;  ///< which model of the run; "" where there is one
  std::string scalar;  ///< "float32" or "float64"; set by write_checkpoint
  Attributes other;    ///< further root attributes (data fingerprint, ...), kept as they are
};

/// <folder>/checkpoint_<step with 8 digits>.h5
std::string checkpoint_path(const std::string& folder, std::int64_t step);

/// Writes a checkpoint under a temporary name and renames it. Errors: as Hdf5Writer.
template <class Scalar>
void write_checkpoint(const std::string& path, const CheckpointHeader& header,
                      const StateArrays<const Scalar>& state, const History& history);

/// Reads the header only. Errors: no checkpoint, newer format, damaged (the whole file is read and
/// compared with its checksum).
CheckpointHeader read_checkpoint_header(const std::string& path);

/// The shape of one parameter. Errors: as the header's, and no parameter of that name.
std::vector<std::int64_t> read_parameter_shape(const std::string& path, const std::string& name);

/// Fills the arrays of `state`, whose names and shapes say what is expected, and the rows of
/// `history` (nullptr: not read). Errors: those of the header; the first array that is missing,
/// has another shape or is not expected, with both shapes; another scalar type. Nothing of
/// `state` may be used after an error.
template <class Scalar>
CheckpointHeader read_checkpoint(const std::string& path, const StateArrays<Scalar>& state,
                                 History* history);

/// Fills the parameters only, to evaluate them. Errors: those of read_checkpoint.
template <class Scalar>
CheckpointHeader read_parameters(const std::string& path,
                                 const std::vector<NamedArray<Scalar>>& parameters);

/// The newest checkpoint of a folder that can be read; nullopt where there is none or no folder.
/// Files that cannot be read are passed over, one line each into *passed_over if given. A file of a
/// newer format version is an Error: going on from an older one would lose work silently.
std::optional<std::string> find_newest_checkpoint(const std::string& folder,
                                                  std::vector<std::string>* passed_over = nullptr);

/// Which checkpoints stay.
struct Retention {
  std::int64_t newest = 0;   ///< so many of the newest; 0: all
  std::int64_t forever = 0;  ///< and any whose step is a multiple of this; 0: no others
};

/// Deletes the checkpoints that `retention` does not keep, and what writers that were killed left
/// behind (checkpoint_*.h5.tmp.*): call it on the only rank that writes here, not while writing.
void prune_checkpoints(const std::string& folder, const Retention& retention);

}  // namespace lexikos

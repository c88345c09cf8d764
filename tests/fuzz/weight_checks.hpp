// What every weight file that is accepted promises.
#pragma once

#include <string>

#include "weights/weight_file.hpp"

namespace lexikos::fuzz {

/// As job capacity asks.
inline const WeightKeys weight_keys = {"capacity.files", "capacity.input_tensor",
                                       "capacity.output_tensor"};

/// Opens a file, every tensor and both sides; reads the first and the last rows of each matrix.
/// True where the file was accepted.
bool read_weights(const std::string& place);

/// Reads a row into doubles; the sum of what is a number, so that nothing is optimised away.
double read_row(const WeightMatrix& matrix, Index row);

}  // namespace lexikos::fuzz

// Between device memory and the files of a member: state, and the matrices for analysis.
#pragma once

#include <string>

#include "model.hpp"
#include "outputs/checkpoint.hpp"
#include "outputs/embedding_file.hpp"
#include "outputs/history.hpp"

namespace lexikos {

/// Makes a folder and those above it. Throws Error(file) with the system's reason.
void make_directory(const std::string& path);

/// Writes folder/checkpoint_<step>.h5 with parameters, moments (all must be here) and history.
/// Throws Error(numerical) that names the first value that is not finite: such a state is not
/// written.
void save_state(const std::string& folder, const CheckpointHeader& header,
                const Parameters<float>& parameters, const History& history);

/// Writes folder/checkpoint_<step>.h5 where each rank may hold no more than a slice of the moments;
/// the root writes. Errors: as save_state. Collective: if it fails, all ranks throw its error.
void save_shared_state(const Communicator& comm, const std::string& folder,
                       const CheckpointHeader& header, const Parameters<float>& parameters,
                       const History& history);

/// Reads a checkpoint into parameters, moments (those of parameters.moment_range()) and history.
/// Throws Error(file), also where a value is not finite.
CheckpointHeader load_state(const std::string& path, Parameters<float>& parameters,
                            History& history);

/// Reads the parameters of a checkpoint, and nothing else of it. Throws Error(file), also where a
/// value is not finite.
CheckpointHeader load_values(const std::string& path, Parameters<float>& parameters);

/// The V x D input matrix, materialised, and the head's, in host memory, row by row.
std::vector<float> input_matrix_on_host(Model<float>& model);
std::vector<float> output_matrix_on_host(const Model<float>& model);

/// Writes the materialised input matrix and the head's. Throws Error(numerical) where a value of
/// them is not finite.
void save_embedding_file(const std::string& path, const Attributes& attributes,
                         Model<float>& model);

}  // namespace lexikos

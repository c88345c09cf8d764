// One reader for each format; only weight_file.cpp includes this. Each throws Error(file) with one
// line on anything that is wrong, and maps rather than copies.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "utils/mapped_file.hpp"
#include "weights/weight_file.hpp"

namespace lexikos::formats {

using File = std::shared_ptr<const MappedFile>;

/// A tensor of plain rows inside a mapped file; `open` checks that it is what is asked for, and
/// that it lies in the file. Without `element` its type is not read.
TensorEntry stored_tensor(const File& file, const std::string& name, std::vector<Index> shape,
                          const std::string& type, std::optional<Element> element,
                          std::uint64_t offset);

bool is_safetensors(const MappedFile& file);
std::vector<TensorEntry> read_safetensors(const File& file);
/// The tensors of all shards that a model.safetensors.index.json names. One whose shard is missing
/// or has it not, or that two shards have, is broken. `advice`: of the message on a missing shard.
std::vector<TensorEntry> read_safetensors_index(const File& index, const std::string& advice);

bool is_gguf(const MappedFile& file);
std::vector<TensorEntry> read_gguf(const File& file);

bool is_npy(const MappedFile& file);
std::vector<TensorEntry> read_npy(const File& file);

struct Hdf5Matrices {
  std::string format;
  std::vector<TensorEntry> tensors;
  std::string input, output;  // tensor names where the file's format tells them
  std::string why_no_input;
};
/// `dataset` "" takes them all; `table` may be empty; `advice`: of the message on a bad file.
Hdf5Matrices read_hdf5(const std::string& path, const std::string& dataset,
                       const std::string& advice, const StoredTable& table);

}  // namespace lexikos::formats

// Writes tensors as safetensors, in one file or in shards, value after value.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "weights/element.hpp"

namespace lexikos {

/// A tensor to be written.
struct TensorShape {
  std::string name;          ///< letters, digits, '.', '_'
  std::vector<Index> shape;  ///< row-major
  [[nodiscard]] Index size() const;
};

/// Which tensors [begin, end) lie together in one file.
struct Shard {
  std::size_t begin, end;
  Index bytes;
};

/// Neighbours share a file as long as it stays within `most` bytes; a tensor that is larger on its
/// own has a file of its own.
std::vector<Shard> plan_shards(const std::vector<TensorShape>& tensors, Element element,
                               Index most);

/// A folder's model.safetensors; where the tensors make several shards, its
/// model-00001-of-00003.safetensors, ... and model.safetensors.index.json. Values are given in the
/// order of the tensors, so that no more than a piece of them needs to be in memory. The folder
/// exists; that it appears as a whole or not at all is the caller's to see to.
class SafetensorsWriter {
 public:
  /// `element` is f32 or bf16. Throws Error(file).
  SafetensorsWriter(std::string folder, std::vector<TensorShape> tensors, Element element,
                    Index shard_bytes);

  /// Appends values of the tensor at hand, or of the next one; never past a tensor's end.
  /// Throws Error(file); Error(numerical) that names tensor, row and column of the first value that
  /// is not finite, or would not be in the type that is written.
  void write(const float* values, Index count);

  /// After the last value: waits until the disk has all files. Throws Error(file).
  void finish();

  [[nodiscard]] std::size_t files() const { return shards_.size(); }
  [[nodiscard]] Index bytes() const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  [[nodiscard]] std::string file_name(std::size_t shard) const;
  void open_shard();
  void close_shard();
  void put(const void* data, std::size_t bytes);
  void write_index();
  /// `at`: among the values at hand, behind those that are written.
  [[noreturn]] void refuse_value(Index at, float value) const;

  std::string folder_;
  std::vector<TensorShape> tensors_;
  Element element_;
  std::vector<Shard> shards_;
  std::size_t shard_ = 0, tensor_ = 0;
  Index written_ = 0;  // values of tensor_
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::vector<std::uint16_t> narrow_;
};

}  // namespace lexikos

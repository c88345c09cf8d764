// The matrices of a weight file, whatever its format; README.md lists the formats.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weights/weight_matrix.hpp"

namespace lexikos {

/// What a file says about one of its tensors. One that cannot be read is in the list as well: only
/// what is asked for must be readable.
struct TensorEntry {
  std::string name;
  std::vector<Index> shape;
  std::string type;  ///< as the file calls it
  /// Opens a matrix (dimensions 2) or a vector (1) as one row; throws Error(file) where it has
  /// other dimensions, no known type, or goes past the end, and as `trouble` says.
  std::function<WeightMatrix(std::size_t dimensions)> open;
  /// The line that `open` throws whatever is asked, where `shape` is not known; "": none.
  std::string trouble;

  /// One that cannot be opened.
  static TensorEntry broken(const std::string& name, const std::string& trouble);
};

/// What the job that asks calls things in its deck: messages tell which key to change.
struct WeightKeys {
  std::string place;          ///< that names the file or folder
  std::string input, output;  ///< that name a matrix; "": the job has no such keys

  [[nodiscard]] std::string advice() const { return "check " + place; }
};

enum class Side { input, output };

/// Which parameter of a checkpoint is its input matrix, by the interface in its deck; "" where that
/// is computed.
using StoredTable = std::function<std::string(const std::string& interface)>;

class WeightFile {
 public:
  /// Opens a file, a folder (README.md tells which of its files stands for it), or
  /// "file.h5:/dataset". The format is recognised by content. `table` is asked where the file is a
  /// checkpoint of this program. Throws Error(file) on everything that is wrong with it, one
  /// tensor's troubles aside.
  WeightFile(const std::string& place, WeightKeys keys, const StoredTable& table = {});

  /// The file's name, and its format in words.
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& format() const { return format_; }
  [[nodiscard]] const std::vector<TensorEntry>& tensors() const { return tensors_; }
  /// A sentence on files beside it that say the same thing and were not read; "": there are none.
  [[nodiscard]] const std::string& passed_over() const { return passed_over_; }

  /// The tensor of that name. Throws Error(file) that lists near names where there is none, and
  /// where there are two.
  [[nodiscard]] WeightMatrix matrix(const std::string& name) const;

  /// The matrix or vector of that name and shape. Throws Error(file) as above, and with both shapes
  /// where it has another.
  [[nodiscard]] WeightMatrix tensor(const std::string& name, const std::vector<Index>& shape) const;

  /// The embedding matrix by the names that model families give it. Nothing where the file has no
  /// output matrix (tied models). Throws Error(file) where there is no input matrix, or where two
  /// names fit.
  [[nodiscard]] std::optional<WeightMatrix> matrix(Side side) const;

 private:
  [[nodiscard]] std::string near_names(const std::string& wanted) const;
  [[nodiscard]] const TensorEntry& entry(const std::string& name) const;
  /// Throws Error(file) also where its values are to be multiplied by those of another tensor.
  [[nodiscard]] WeightMatrix opened(const TensorEntry& entry, std::size_t dimensions) const;
  [[noreturn]] void refuse(const std::string& why) const;

  WeightKeys keys_;
  std::string path_, format_, passed_over_;
  std::vector<TensorEntry> tensors_;
  /// Where the format itself says which tensor is which; empty: by the family table.
  std::string input_, output_;
  std::string why_no_input_;  // said instead of near names
};

}  // namespace lexikos

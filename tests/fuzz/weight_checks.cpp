#include "fuzz/weight_checks.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "fuzz/reader.hpp"

namespace lexikos::fuzz {
namespace {

constexpr Index widest = Index{1} << 20;  // wider rows are not read here

void check_matrix(const WeightMatrix& matrix) {
  require(matrix.rows >= 0 && matrix.width >= 0, "a matrix has no negative extent");
  if (matrix.rows == 0 || matrix.width == 0 || matrix.width > widest) return;
  require(matrix.data != nullptr, "a matrix has its data");
  const Index looks = std::min<Index>(matrix.rows, 16);
  for (Index i = 0; i < looks; ++i) {
    read_row(matrix, i);
    read_row(matrix, matrix.rows - 1 - i);
  }
}

void check_tensor(const TensorEntry& tensor) {
  for (const Index extent : tensor.shape) require(extent >= 0, "no extent is negative");
  for (const std::size_t dimensions : {std::size_t{1}, std::size_t{2}}) {
    std::optional<WeightMatrix> matrix;
    if (!accepts(Status::file, [&] { matrix = tensor.open(dimensions); })) continue;
    require(tensor.shape.size() == dimensions, "a tensor opens with its own dimensions");
    const Index rows = dimensions == 2 ? tensor.shape[0] : 1;
    require(matrix->rows == rows && matrix->width == tensor.shape.back(),
            "a matrix has its tensor's shape");
    check_matrix(*matrix);
  }
}

}  // namespace

double read_row(const WeightMatrix& matrix, Index row) {
  std::vector<double> values(static_cast<std::size_t>(matrix.width));
  matrix.read(row, values.data());
  double sum = 0;
  for (const double value : values) sum += std::isfinite(value) ? value : 0;
  return sum;
}

bool read_weights(const std::string& place) {
  std::optional<WeightFile> file;
  const StoredTable table = [](const std::string& interface) {
    return interface == "tied" ? std::string("head.weight") : std::string();
  };
  if (!accepts(Status::file, [&] { file.emplace(place, weight_keys, table); })) return false;
  for (const TensorEntry& tensor : file->tensors()) check_tensor(tensor);
  for (const Side side : {Side::input, Side::output}) {
    accepts(Status::file, [&] {
      if (const auto matrix = file->matrix(side)) check_matrix(*matrix);
    });
  }
  accepts(Status::file, [&] { static_cast<void>(file->matrix("no such tensor")); });
  return true;
}

}  // namespace lexikos::fuzz

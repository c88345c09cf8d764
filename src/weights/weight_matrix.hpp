// A matrix of stored rows in host memory: a window on a mapped file, or on a buffer of the caller.
#pragma once

#include <memory>
#include <string>

#include "utils/error.hpp"
#include "utils/finite.hpp"
#include "utils/text.hpp"
#include "weights/element.hpp"

namespace lexikos {

struct WeightMatrix {
  std::string name;  ///< file and tensor, for messages
  Index rows = 0, width = 0;
  Element element = Element::f32;
  const std::byte* data = nullptr;
  std::shared_ptr<const void> owner;  ///< keeps `data` alive; empty where the caller does
  bool computed = false;              ///< here: what is wrong with it is no fault of a file

  [[nodiscard]] const std::byte* row(Index i) const { return data + i * row_bytes(element, width); }
  /// Overwrites out[width]. Rows may be read by several threads at once.
  void read(Index i, double* out) const { widen(element, row(i), width, out); }

  /// Rows of float in host memory, such as Model::materialise leaves them; not copied.
  static WeightMatrix over(const float* values, Index rows, Index width, std::string name) {
    return {std::move(name), rows, width, Element::f32, reinterpret_cast<const std::byte*>(values),
            nullptr,         true};
  }
};

/// Throws Error: the matrix holds `value`, which no computation can use. Status::file where a file
/// brought it, Status::numerical where it arose here.
[[noreturn]] inline void refuse_value(const WeightMatrix& matrix, Index row, Index column,
                                      double value) {
  fail(matrix.computed ? Status::numerical : Status::file,
       "cannot use '" + matrix.name +
           "': " + place_in(row * matrix.width + column, {matrix.rows, matrix.width}) + " is " +
           format_real(value) +
           (matrix.computed ? ", a number that is not finite" : "; the weights are damaged"));
}

/// Reads row i into out[width]. Throws Error as refuse_value where it is not finite.
inline void read_finite(const WeightMatrix& matrix, Index i, double* out) {
  matrix.read(i, out);
  const Index bad = first_not_finite(out, matrix.width);
  if (bad >= 0) refuse_value(matrix, i, bad, out[bad]);
}

/// Whether two matrices hold the same numbers, whatever they are stored as. A NaN equals itself.
bool same_values(const WeightMatrix& a, const WeightMatrix& b);

}  // namespace lexikos

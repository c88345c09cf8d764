// A matrix of stored rows in host memory: a window on a mapped file, or on a buffer of the caller.
#pragma once

#include <memory>
#include <string>

#include "weights/element.hpp"

namespace lexikos {

struct WeightMatrix {
  std::string name;  ///< file and tensor, for messages
  Index rows = 0, width = 0;
  Element element = Element::f32;
  const std::byte* data = nullptr;
  std::shared_ptr<const void> owner;  ///< keeps `data` alive; empty where the caller does

  [[nodiscard]] const std::byte* row(Index i) const { return data + i * row_bytes(element, width); }
  /// Overwrites out[width]. Rows may be read by several threads at once.
  void read(Index i, double* out) const { widen(element, row(i), width, out); }

  /// Rows of float in host memory, such as Model::materialise leaves them; not copied.
  static WeightMatrix over(const float* values, Index rows, Index width, std::string name) {
    return {std::move(name), rows, width, Element::f32, reinterpret_cast<const std::byte*>(values),
            nullptr};
  }
};

/// Whether two matrices hold the same numbers, stored the same way.
inline bool same_values(const WeightMatrix& a, const WeightMatrix& b) {
  if (a.rows != b.rows || a.width != b.width || a.element != b.element) return false;
  return a.data == b.data ||
         std::memcmp(a.data, b.data,
                     static_cast<std::size_t>(a.rows * row_bytes(a.element, a.width))) == 0;
}

}  // namespace lexikos

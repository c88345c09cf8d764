#include "weights/weight_matrix.hpp"

#include <cmath>
#include <vector>

namespace lexikos {
namespace {

bool same_numbers(const WeightMatrix& a, const WeightMatrix& b) {
  std::vector<double> x(static_cast<std::size_t>(a.width)), y(x.size());
  for (Index i = 0; i < a.rows; ++i) {
    a.read(i, x.data());
    b.read(i, y.data());
    for (std::size_t d = 0; d < x.size(); ++d) {
      if (!(x[d] == y[d] || (std::isnan(x[d]) && std::isnan(y[d])))) return false;
    }
  }
  return true;
}

}  // namespace

bool same_values(const WeightMatrix& a, const WeightMatrix& b) {
  if (a.rows != b.rows || a.width != b.width) return false;
  if (a.element != b.element) return same_numbers(a, b);
  return a.data == b.data ||
         std::memcmp(a.data, b.data,
                     static_cast<std::size_t>(a.rows * row_bytes(a.element, a.width))) == 0;
}

}  // namespace lexikos

// Windows on consecutive rows.
#pragma once

#include "kokkos_types.hpp"

namespace lexikos {

/// Rows [begin, begin + rows) of a matrix.
template <class T>
View2<T> rows_of(const View2<T>& x, Index begin, Index rows) {
  return View2<T>(x.data() + begin * x.extent(1), rows, x.extent(1));
}

/// Elements [begin, begin + count) of a vector.
template <class T>
View1<T> part_of(const View1<T>& x, Index begin, Index count) {
  return View1<T>(x.data() + begin, count);
}

}  // namespace lexikos

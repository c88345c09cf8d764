// Copies in a narrower type, for products that read it.
#pragma once

#include "kokkos_types.hpp"

namespace lexikos {

/// Overwrites to with from, rounded to A: two views of one size.
template <class A, class From, class To>
void narrow_into(const ExecSpace& space, const From& from, const To& to) {
  const Region region("Lexikos::narrow", {.bytes = bytes_of(from, to)});
  const auto* const read = from.data();
  A* const write = to.data();
  for_each(
      "Lexikos::narrow", space, static_cast<Index>(from.size()),
      KOKKOS_LAMBDA(const Index i) { write[i] = A(read[i]); });
}

}  // namespace lexikos

// What every class that sends stretches of an arena needs.
#pragma once

#include <mpi.h>

#include <type_traits>

#include "kokkos_types.hpp"

namespace lexikos {

template <class S>
MPI_Datatype mpi_type() {
  static_assert(std::is_same_v<S, float> || std::is_same_v<S, double>);
  return std::is_same_v<S, float> ? MPI_FLOAT : MPI_DOUBLE;
}

/// Elements [begin, end) of an array in `Memory`.
template <class Memory, class S>
Kokkos::View<S*, Kokkos::LayoutRight, Memory, Window> stretch(S* data, Index begin, Index end) {
  return Kokkos::View<S*, Kokkos::LayoutRight, Memory, Window>(data + begin, end - begin);
}

/// While it lives, MPI may read and write device memory: true of a device anyway; an emulated one
/// has to be told.
#if defined(LEXIKOS_EMULATE_DEVICE)
using DirectMessages = emulation::Access;
#else
class DirectMessages {
 public:
  DirectMessages() {}
};
#endif

}  // namespace lexikos

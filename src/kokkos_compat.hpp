// Differences between Kokkos 3.4 and 5.x, kept in this one place.
#pragma once

#include <Kokkos_Core.hpp>
#include <string>

#if !defined(KOKKOS_VERSION)
#error "Kokkos 3.4 or newer is needed"
#endif

namespace lexikos {

/// An allocation whose content is not set: every user of it overwrites first.
inline auto without_initializing(const std::string& label) {
#if KOKKOS_VERSION >= 30700
  return Kokkos::view_alloc(Kokkos::WithoutInitializing, label);
#else
  return Kokkos::ViewAllocateWithoutInitializing(label);
#endif
}

}  // namespace lexikos

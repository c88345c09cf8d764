// A mistake that the compile check must find: a kernel calls a function of the host.
#include "kokkos_types.hpp"

namespace lexikos {

float host_only(float x) { return x + 1.0f; }

void planted(const ExecSpace& space, View1<float> x) {
  for_each(
      "planted", space, x.size(), KOKKOS_LAMBDA(const Index i) { x(i) = host_only(x(i)); });
}

}  // namespace lexikos

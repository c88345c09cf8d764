// A mistake that the compile check must find: a kernel captures `this`, a pointer of the host.
#include "kokkos_types.hpp"

namespace lexikos {

struct Planted {
  float factor = 2;
  View1<float> x;
  void scale(const ExecSpace& space) const {
    for_each(
        "planted", space, x.size(), KOKKOS_LAMBDA(const Index i) { x(i) *= factor; });
  }
};

void planted(const ExecSpace& space, const Planted& p) { p.scale(space); }

}  // namespace lexikos

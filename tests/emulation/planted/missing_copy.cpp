// Planted: the host reads a mirror into which nobody has copied what the kernel wrote.
#include "planted.hpp"

void planted(const Buffer<float>& x) {
  const auto mirror = Kokkos::create_mirror_view(Kokkos::HostSpace(), x);
  expect(mirror(7), 14);
}

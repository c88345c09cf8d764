// Planted: a kernel reads memory that no kernel has written.
#include "planted.hpp"

void planted(const Buffer<float>&) {
  const Buffer<float> y(without_initializing("y"), n_planted);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y);
  expect(host(0), 0);
}

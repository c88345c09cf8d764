// A mistake that the compile check must find: device memory taken for the host's, without a copy.
#include "kokkos_types.hpp"

namespace lexikos {

float planted(const Buffer<float>& x) {
  const HostBuffer<float> host = x;
  return host(0);
}

}  // namespace lexikos

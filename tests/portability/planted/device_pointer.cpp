// Planted: host code follows a pointer into device memory.
#include "kokkos_types.hpp"

namespace lexikos {

float first(const Buffer<float>& values) { return host_pointer(values)[0]; }

}  // namespace lexikos

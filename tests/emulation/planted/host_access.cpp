// Planted: host code follows a pointer into device memory, past the compiler's eyes.
#include "planted.hpp"

void planted(const Buffer<float>& x) {
  const float* const first = x.data();
  std::printf("%g\n", first[3]);
}

// What the planted mistakes share: a device array x with x(i) = 2 i, and a main around them.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "kokkos_types.hpp"

using namespace lexikos;

inline constexpr Index n_planted = 64;

/// Ends the program with status 1 if a number is not what it has to be.
inline void expect(float seen, float right) {
  if (seen == right) return;
  std::fprintf(stderr, "seen %g where %g is right\n", seen, right);
  std::exit(1);
}

[[gnu::noinline]] void planted(const Buffer<float>& x);

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  emulation::begin();
  {
    const Buffer<float> x("x", n_planted);
    float* const to = x.data();
    for_each(
        "fill", ExecSpace(), n_planted,
        KOKKOS_LAMBDA(const Index i) { to[i] = 2 * static_cast<float>(i); });
    planted(x);
  }
  return 0;
}

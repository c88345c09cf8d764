// Planted: a barrier that one lane never reaches, on which a device would hang.
#include "planted.hpp"

void planted(const Buffer<float>&) {
  for_rows(
      "planted", ExecSpace(), 1,
      KOKKOS_LAMBDA(const Lane& lane, const Index) { lane.once([&] { lane.barrier(); }); });
}

// Planted: 2,048 threads to a team compile everywhere and start on no GPU.
#include "kokkos_types.hpp"

namespace lexikos {

void scale_rows(const ExecSpace& space, View2<float> x) {
  Kokkos::parallel_for(
      "planted::fixed_team",
      Kokkos::TeamPolicy<ExecSpace>(space, static_cast<int>(x.extent(0)), 2048),
      KOKKOS_LAMBDA(const TeamMember& member) {
        Kokkos::parallel_for(Kokkos::TeamThreadRange(member, x.extent(1)),
                             [&](const int c) { x(member.league_rank(), c) *= 2; });
      });
}

}  // namespace lexikos

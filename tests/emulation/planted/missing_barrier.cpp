// Planted: lanes read what others write, without a barrier between.
#include "planted.hpp"

void planted(const Buffer<float>& x) {
  const View1<float> all(x.data(), x.size());
  for_rows(
      "planted", ExecSpace(), 1, KOKKOS_LAMBDA(const Lane& lane, const Index) {
        const Index n = all.extent(0);
        lane.for_each(n, [=](const Index i) { all(i) = static_cast<float>(i); });
        lane.for_each(n, [=](const Index i) {
          if (i + 1 < n) all(i) = all(i + 1) - 1;  // needs its neighbour's new number
        });
      });
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  for (Index i = 0; i < n_planted; ++i) expect(host(i), static_cast<float>(i));
}

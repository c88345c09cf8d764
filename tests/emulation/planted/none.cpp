// Nothing planted: the same done right.
#include "planted.hpp"

void planted(const Buffer<float>& x) {
  const View1<float> all(x.data(), x.size());
  for_rows(
      "planted", ExecSpace(), 1, KOKKOS_LAMBDA(const Lane& lane, const Index) {
        const Index n = all.extent(0);
        const float sum = lane.sum<float>(n, [=](const Index i) { return all(i); });
        const float largest = lane.max<float>(n, [=](const Index i) { return all(i); });
        lane.for_each(n, [=](const Index i) { all(i) = sum + largest + static_cast<float>(i); });
        lane.barrier();
        lane.once([&] { all(0) = all(n - 1); });
      });
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  const float sum = n_planted * (n_planted - 1), largest = 2 * (n_planted - 1);
  expect(host(0), sum + largest + n_planted - 1);
  expect(host(1), sum + largest + 1);
}

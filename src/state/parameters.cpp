#include "state/parameters.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "kernels/philox.hpp"
#include "utils/error.hpp"

namespace lexikos {
namespace {

/// Windows start on a cache line, for vector loads and for reductions by slices.
constexpr Index alignment = 16;

template <class S>
void fill_normal(const ExecSpace& space, View1<S> values, Init init, std::uint64_t seed,
                 std::uint64_t stream) {
  Kokkos::parallel_for(
      "Lexikos::parameters::initialise", Kokkos::RangePolicy<ExecSpace>(space, 0, values.size()),
      KOKKOS_LAMBDA(const Index i) {
        values(i) = static_cast<S>(init.mean + init.deviation * random_normal(seed, stream, i));
      });
}

}  // namespace

ArenaRange slice_of(Index arena_size, int rank, int ranks) {
  const Index share = (arena_size + ranks - 1) / ranks;
  const Index size = (share + alignment - 1) / alignment * alignment;
  return {std::min(rank * size, arena_size), std::min((rank + 1) * size, arena_size)};
}

template <class S>
Weight<S> Parameters<S>::add(const std::string& name, std::vector<Index> shape, Init init,
                             Decay decay) {
  for (const ParameterInfo& info : infos_) {
    if (info.name == name) fail(Status::deck, "parameter '" + name + "' is declared twice");
  }
  const Index size =
      std::accumulate(shape.begin(), shape.end(), Index{1}, std::multiplies<Index>());
  infos_.push_back({name, std::move(shape), init, decay, end_, size});
  end_ += (size + alignment - 1) / alignment * alignment;
  return Weight<S>(*this, static_cast<Index>(infos_.size()) - 1);
}

template <class S>
Weight<S> Parameters<S>::find(const std::string& name) const {
  const auto it = std::find_if(infos_.begin(), infos_.end(),
                               [&](const ParameterInfo& info) { return info.name == name; });
  if (it == infos_.end()) {
    fail(Status::deck, "parameter '" + name + "' is shared before any package declared it");
  }
  return Weight<S>(*this, it - infos_.begin());
}

template <class S>
Index Parameters<S>::count(const std::string& prefix) const {
  Index total = 0;
  for (const ParameterInfo& info : infos_) {
    if (info.name.rfind(prefix, 0) == 0) total += info.size;
  }
  return total;
}

template <class S>
void Parameters<S>::allocate(ArenaRange moments) {
  allocate_values();
  moment_range_ = moments;
  gradient_ = Buffer<S>("Lexikos::parameters::gradient", arena_size());
  moment1_ = Buffer<S>("Lexikos::parameters::moment1", moments.size());
  moment2_ = Buffer<S>("Lexikos::parameters::moment2", moments.size());
}

template <class S>
void Parameters<S>::allocate_values() {
  value_ = Buffer<S>("Lexikos::parameters::value", arena_size());
}

template <class S>
void Parameters<S>::initialise(std::uint64_t seed) {
  const ExecSpace space;
  for (const ParameterInfo& info : infos_) {
    const View1<S> window(value_.data() + info.offset, info.size);
    if (info.init.deviation == 0.0) {
      Kokkos::deep_copy(space, window, static_cast<S>(info.init.mean));
    } else {
      fill_normal<S>(space, window, info.init, seed, stream_of(info.name));
    }
  }
  space.fence();
}

template <class S>
std::vector<Segment> Parameters<S>::segments() const {
  std::vector<Segment> segments;
  for (const ParameterInfo& info : infos_) {
    const Index end = info.offset + info.size;
    const bool adjoins = !segments.empty() && segments.back().end == info.offset;
    if (adjoins && segments.back().decay == info.decay) {
      segments.back().end = end;
    } else {
      segments.push_back({info.offset, end, info.decay});
    }
  }
  return segments;
}

template class Parameters<float>;
template class Parameters<double>;

}  // namespace lexikos

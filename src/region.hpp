// Named stretches of host code, which profiling tools and the job `bench` see, and the work that
// each of them must do at least.
#pragma once

#include <Kokkos_Core.hpp>
#include <string>

namespace lexikos {

/// What an operator must do at least: floating-point operations (a multiply-add is 2) and bytes
/// that are read or written once each, as if caches were perfect.
struct Work {
  double flops = 0;
  double bytes = 0;
};

/// Who wants to know the work of the region that was just entered; null: nobody.
inline void (*observe_work)(const Work&) = nullptr;

/// A region lasts as long as its object. Its work comes from shapes only.
class Region {
 public:
  explicit Region(const std::string& label, const Work& work = {}) {
    Kokkos::Profiling::pushRegion(label);
    if (observe_work != nullptr) observe_work(work);
  }
  ~Region() { Kokkos::Profiling::popRegion(); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
};

/// Bytes of all elements of some views.
template <class... Views>
double bytes_of(const Views&... views) {
  return (0.0 + ... + (static_cast<double>(views.size()) * sizeof(typename Views::value_type)));
}

}  // namespace lexikos

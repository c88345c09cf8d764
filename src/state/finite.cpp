#include "state/finite.hpp"

#include "utils/finite.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

/// The first element that is NaN or infinite; -1 where none is.
template <class S>
Index first_bad_element(const Buffer<S>& arena) {
  const Index count = static_cast<Index>(arena.size());
  Index first = count;
  Kokkos::parallel_reduce(
      "Lexikos::finite::first_bad_element",
      Kokkos::RangePolicy<ExecSpace, Kokkos::IndexType<Index>>(0, count),
      // Infinity less itself is NaN too, and NaN equals nothing.
      KOKKOS_LAMBDA(const Index i, Index& least) {
        if (!(arena(i) - arena(i) == S(0)) && i < least) least = i;
      },
      Kokkos::Min<Index>(first));
  return first < count ? first : -1;
}

template <class S>
std::string value_text(const Buffer<S>& arena, Index i) {
  const auto one = Kokkos::subview(arena, std::make_pair(i, i + 1));
  return format_real(
      static_cast<double>(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), one)(0)));
}

/// "'head.weight' has nan at row 3, column 5" of the parameter that element `bad` is part of.
std::string text_of(const ParameterInfos& infos, Index bad, const std::string& value) {
  for (const ParameterInfo& info : infos) {
    if (bad < info.offset || bad >= info.offset + info.size) continue;
    return "'" + info.name + "' has " + value + " at " + place_in(bad - info.offset, info.shape);
  }
  return "a gap between parameters has " + value;
}

}  // namespace

template <class S>
void require_finite(const Parameters<S>& parameters, Status status, const std::string& start,
                    const std::string& advice) {
  struct Arena {
    const char* name;
    const Buffer<S>& elements;
    Index begin;  // of the whole arena
  };
  const Index moments = parameters.moment_range().begin;
  for (const Arena& a : {Arena{"", parameters.values(), 0},
                         Arena{"the first moment of ", parameters.first_moments(), moments},
                         Arena{"the second moment of ", parameters.second_moments(), moments}}) {
    if (a.elements.size() == 0) continue;
    const Index bad = first_bad_element(a.elements);
    if (bad < 0) continue;
    fail(status, start + ": " + a.name +
                     text_of(parameters.infos(), a.begin + bad, value_text(a.elements, bad)) +
                     "; " + advice);
  }
}

template void require_finite(const Parameters<float>&, Status, const std::string&,
                             const std::string&);
template void require_finite(const Parameters<double>&, Status, const std::string&,
                             const std::string&);

}  // namespace lexikos

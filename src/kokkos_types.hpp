// Every alias and launch helper of the code. Rows are contiguous (LayoutRight) everywhere.
//
// Shape letters used in all comments: B sequences, T context, N = B T positions, C model width,
// H heads, E = C / H head width, F MLP width, V vocabulary, U distinct tokens of a step, L blocks.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "bfloat16.hpp"
#if defined(LEXIKOS_EMULATE_DEVICE)
#include "emulation/device_memory.hpp"
#include "emulation/lanes.hpp"
#endif
#include "kokkos_compat.hpp"
#include "region.hpp"

// Vector loops of host code. Device compilers map the loop onto threads instead.
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define LEXIKOS_SIMD
#define LEXIKOS_SIMD_SUM(variable)
#define LEXIKOS_SIMD_MAX(variable)
#else
#define LEXIKOS_PRAGMA(text) _Pragma(#text)
#define LEXIKOS_SIMD LEXIKOS_PRAGMA(omp simd)
#define LEXIKOS_SIMD_SUM(variable) LEXIKOS_PRAGMA(omp simd reduction(+ : variable))
#define LEXIKOS_SIMD_MAX(variable) LEXIKOS_PRAGMA(omp simd reduction(max : variable))
#endif

namespace lexikos {

using ExecSpace = Kokkos::DefaultExecutionSpace;
#if defined(LEXIKOS_EMULATE_DEVICE)
using MemSpace = emulation::DeviceMemory;
#else
using MemSpace = ExecSpace::memory_space;
#endif
using Index = std::int64_t;
using TokenId = std::uint32_t;

/// True where host code may follow a device pointer; false means every access needs a deep_copy.
inline constexpr bool device_is_host =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, MemSpace>::accessible &&
    std::is_same_v<MemSpace, Kokkos::HostSpace>;

// Windows: unmanaged views of memory that somebody else owns. All kernels take windows.
using Window = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
template <class T>
using View1 = Kokkos::View<T*, Kokkos::LayoutRight, MemSpace, Window>;
template <class T>
using View2 = Kokkos::View<T**, Kokkos::LayoutRight, MemSpace, Window>;
template <class T>
using View3 = Kokkos::View<T***, Kokkos::LayoutRight, MemSpace, Window>;
template <class T>
using View4 = Kokkos::View<T****, Kokkos::LayoutRight, MemSpace, Window>;

// Owners of memory.
template <class T>
using Buffer = Kokkos::View<T*, Kokkos::LayoutRight, MemSpace>;
template <class T>
using HostBuffer = Kokkos::View<T*, Kokkos::LayoutRight, Kokkos::HostSpace>;

/// The pointer behind a view that host code is about to follow. Does not compile for memory that
/// the host cannot reach, where a copy by deep_copy is what is needed.
template <class V>
typename V::pointer_type host_pointer(const V& view) {
  static_assert(
      device_is_host || !std::is_same_v<typename V::memory_space, MemSpace>,
      "host code cannot follow a pointer into this view's memory: deep_copy it to the host first");
  return view.data();
}

/// The work of one row: the lanes of a team on a device, a vector loop on the host.
/// Kernels are written once against it (see for_rows).
struct HostLane {
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(Index n, const Body& body) const {
    LEXIKOS_SIMD
    for (Index i = 0; i < n; ++i) body(i);
  }
  /// Sum of body(i) over i < n in type A; the same value in every lane.
  template <class A, class Body>
  KOKKOS_FORCEINLINE_FUNCTION A sum(Index n, const Body& body) const {
    A total = 0;
    LEXIKOS_SIMD_SUM(total)
    for (Index i = 0; i < n; ++i) total += body(i);
    return total;
  }
  /// Largest body(i) over i < n (n >= 1).
  template <class A, class Body>
  KOKKOS_FORCEINLINE_FUNCTION A max(Index n, const Body& body) const {
    A largest = body(0);
    LEXIKOS_SIMD_MAX(largest)
    for (Index i = 0; i < n; ++i) {
      const A value = body(i);
      largest = value > largest ? value : largest;
    }
    return largest;
  }
  /// Runs body in one lane only.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void once(const Body& body) const {
    body();
  }
  KOKKOS_FORCEINLINE_FUNCTION void barrier() const {}
};

using TeamMember = Kokkos::TeamPolicy<ExecSpace>::member_type;

#if defined(LEXIKOS_EMULATE_DEVICE)
using TeamLane = emulation::Lane<TeamMember>;
inline TeamLane lane_of(const TeamMember& member) { return {&member, nullptr}; }
inline int team_size() { return emulation::team_lanes(); }
#else
struct TeamLane {
  const TeamMember& member;

  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(Index n, const Body& body) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, n), [&](const Index i) { body(i); });
  }
  template <class A, class Body>
  KOKKOS_FORCEINLINE_FUNCTION A sum(Index n, const Body& body) const {
    A total = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(member, n), [&](const Index i, A& part) { part += body(i); },
        total);
    member.team_barrier();
    return total;
  }
  template <class A, class Body>
  KOKKOS_FORCEINLINE_FUNCTION A max(Index n, const Body& body) const {
    A largest = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(member, n),
        [&](const Index i, A& part) {
          const A value = body(i);
          part = value > part ? value : part;
        },
        Kokkos::Max<A>(largest));
    member.team_barrier();
    return largest;
  }
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void once(const Body& body) const {
    Kokkos::single(Kokkos::PerTeam(member), [&]() { body(); });
  }
  KOKKOS_FORCEINLINE_FUNCTION void barrier() const { member.team_barrier(); }
};
KOKKOS_FORCEINLINE_FUNCTION TeamLane lane_of(const TeamMember& member) { return {member}; }
/// Kokkos's choice: it knows how many lanes the device gives a team of this kernel.
inline auto team_size() { return Kokkos::AUTO; }
#endif

using Lane = std::conditional_t<device_is_host, HostLane, TeamLane>;

namespace detail {

// Functors rather than lambdas: nvcc forbids extended lambdas under `if constexpr`.
template <class Body>
struct RowsInLoops {
  Body body;
  KOKKOS_FUNCTION void operator()(const Index row) const { body(HostLane{}, row); }
};

template <class Body>
struct RowsOnTeams {
  Body body;
  KOKKOS_FUNCTION void operator()(const TeamMember& member) const {
    body(lane_of(member), static_cast<Index>(member.league_rank()));
  }
};

#if defined(LEXIKOS_EMULATE_DEVICE)
template <class Body>
struct RowsInTurns {
  Body body;
  const char* label;
  void operator()(const Index row) const {
    emulation::take_turns(label, [&](emulation::Turns& turns) {
      body(TeamLane{nullptr, &turns}, row);
    });
  }
};
#endif

template <class Body>
struct ElementsInTiles {
  static constexpr Index tile = 4096;
  Body body;
  Index count;
  void operator()(const Index t) const {
    const Index begin = t * tile;
    const Index end = begin + tile < count ? begin + tile : count;
    LEXIKOS_SIMD
    for (Index i = begin; i < end; ++i) body(i);
  }
};

}  // namespace detail

/// Calls body(lane, row) for every row < rows, in parallel. The body shares one row among its
/// lanes through lane.for_each, lane.sum and lane.max; its first argument is `const Lane&`.
template <class Body>
void for_rows(const std::string& label, const ExecSpace& space, Index rows, const Body& body) {
  if (rows == 0) return;
  if constexpr (device_is_host) {
    Kokkos::parallel_for(label,
                         Kokkos::RangePolicy<ExecSpace, Kokkos::IndexType<Index>>(space, 0, rows),
                         detail::RowsInLoops<Body>{body});
  } else {
#if defined(LEXIKOS_EMULATE_DEVICE)
    if (emulation::lanes_take_turns()) {
      Kokkos::parallel_for(label,
                           Kokkos::RangePolicy<ExecSpace, Kokkos::IndexType<Index>>(space, 0, rows),
                           detail::RowsInTurns<Body>{body, label.c_str()});
      return;
    }
#endif
    Kokkos::parallel_for(label,
                         Kokkos::TeamPolicy<ExecSpace>(space, static_cast<int>(rows), team_size()),
                         detail::RowsOnTeams<Body>{body});
  }
}

/// Calls body(i) for every i < count, in parallel and in vector loops; the calls are independent.
template <class Body>
void for_each(const std::string& label, const ExecSpace& space, Index count, const Body& body) {
  if (count == 0) return;
  using Range = Kokkos::RangePolicy<ExecSpace, Kokkos::IndexType<Index>>;
  if constexpr (device_is_host) {
    using Tiles = detail::ElementsInTiles<Body>;
    const Index tiles = (count + Tiles::tile - 1) / Tiles::tile;
    Kokkos::parallel_for(label, Range(space, 0, tiles), Tiles{body, count});
  } else {
    Kokkos::parallel_for(label, Range(space, 0, count), body);
  }
}

/// A single double in device memory.
using DeviceSum = Kokkos::View<double, MemSpace, Window>;

/// result = sum of body(i) over i < count, in double and with the same bits for the same thread
/// count. Nothing is read back: the caller decides when.
template <class Body>
void sum_into(const std::string& label, const ExecSpace& space, Index count, const Body& body,
              const DeviceSum& result) {
  Kokkos::parallel_reduce(
      label, Kokkos::RangePolicy<ExecSpace, Kokkos::IndexType<Index>>(space, 0, count),
      KOKKOS_LAMBDA(const Index i, double& part) { part += body(i); }, result);
}

}  // namespace lexikos

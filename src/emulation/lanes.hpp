// Lanes of an emulated device's teams: Kokkos's own, or lanes that run one after the other from
// barrier to barrier, the last one first, so that a missing barrier gives a wrong number each time.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <functional>
#include <string>

namespace lexikos::emulation {

/// Lanes that take turns on one thread: each runs until its next barrier.
class Turns {
 public:
  virtual ~Turns() = default;
  virtual int lane() const = 0;
  virtual int lanes() const = 0;
  /// Returns when every lane has come to it. A lane that ends instead ends the process with a line:
  /// on a device the others would wait forever.
  virtual void barrier() = 0;
  /// A place of each lane for a number that the others read behind a barrier.
  virtual double& share(int lane) = 0;
};

/// Whether lanes take turns (LEXIKOS_EMULATED_LANES=turns) or are Kokkos's threads (unset, or
/// "threads"). Any other word ends the process with a line.
bool lanes_take_turns();

/// Lanes of a team of Kokkos's: 2, as far as there are threads.
int team_lanes();

/// Calls body(turns) in every one of some lanes, which take turns.
void take_turns(const char* label, const std::function<void(Turns&)>& body);

/// What lexikos::TeamLane offers, on either kind of lanes.
template <class Member>
struct Lane {
  const Member* member = nullptr;  // of Kokkos's team, or
  Turns* turns = nullptr;

  template <class Body>
  void for_each(std::int64_t n, const Body& body) const {
    if (member != nullptr) {
      Kokkos::parallel_for(Kokkos::TeamThreadRange(*member, n), [&](std::int64_t i) { body(i); });
      return;
    }
    const std::int64_t lanes = turns->lanes();
    for (std::int64_t i = turns->lane(); i < n; i += lanes) body(i);
  }
  template <class A, class Body>
  A sum(std::int64_t n, const Body& body) const {
    A total = 0;
    if (member != nullptr) {
      Kokkos::parallel_reduce(
          Kokkos::TeamThreadRange(*member, n), [&](std::int64_t i, A& part) { part += body(i); },
          total);
      member->team_barrier();
      return total;
    }
    A part = 0;
    for_each(n, [&](std::int64_t i) { part += body(i); });
    return together(part, [](A a, A b) { return a + b; });
  }
  template <class A, class Body>
  A max(std::int64_t n, const Body& body) const {
    const auto larger = [](A a, A b) { return b > a ? b : a; };
    if (member != nullptr) {
      A largest = 0;
      Kokkos::parallel_reduce(
          Kokkos::TeamThreadRange(*member, n),
          [&](std::int64_t i, A& part) { part = larger(part, body(i)); }, Kokkos::Max<A>(largest));
      member->team_barrier();
      return largest;
    }
    A part = body(0);
    for_each(n, [&](std::int64_t i) { part = larger(part, body(i)); });
    return together(part, larger);
  }
  template <class Body>
  void once(const Body& body) const {
    if (member != nullptr) {
      Kokkos::single(Kokkos::PerTeam(*member), [&]() { body(); });
    } else if (turns->lane() == 0) {
      body();
    }
  }
  void barrier() const {
    if (member != nullptr) {
      member->team_barrier();
    } else {
      turns->barrier();
    }
  }

 private:
  /// One value out of every lane's, the same in all, with the barriers that a device's has.
  template <class A, class Join>
  A together(A part, const Join& join) const {
    static_assert(sizeof(A) <= sizeof(double));
    turns->share(turns->lane()) = static_cast<double>(part);
    turns->barrier();
    A all = static_cast<A>(turns->share(0));
    for (int lane = 1; lane < turns->lanes(); ++lane) {
      all = join(all, static_cast<A>(turns->share(lane)));
    }
    turns->barrier();
    return all;
  }
};

}  // namespace lexikos::emulation

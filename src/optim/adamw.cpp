#include "optim/adamw.hpp"

#include <algorithm>
#include <cmath>

namespace lexikos {

AdamWSettings AdamWSettings::read(const Deck& deck) {
  const DeckTable table = deck.table("optimizer");
  AdamWSettings s;
  s.beta1 = table.real({.name = "beta1", .doc = "decay of the first moment"}, 0.9,
                       AtLeast(0) && Below(1));
  s.beta2 = table.real({.name = "beta2", .doc = "decay of the second moment"}, 0.95,
                       AtLeast(0) && Below(1));
  s.epsilon = table.real({.name = "epsilon", .doc = "added to the root of the second moment"}, 1e-8,
                         Between(1e-30, 1));
  s.weight_decay = table.real({.name = "weight_decay", .doc = "decoupled decay, of matrices only"},
                              0.1, Between(0, 1e6));
  s.clip_norm =
      table.real({.name = "clip_norm", .doc = "largest global gradient norm; 0 clips nothing"}, 1.0,
                 Between(0, 1e30));
  return s;
}

template <class S>
void squared_norm(const ExecSpace& space, View1<const S> gradients, const DeviceSum& result) {
  const Region region("Lexikos::adamw::squared_norm", {.bytes = bytes_of(gradients)});
  // Tiles of S folded into double: the tile's sum vectorises, the total keeps its digits.
  constexpr Index tile = 2048;
  const Index count = gradients.size();
  const S* const g = gradients.data();
  sum_into(
      "Lexikos::adamw::squared_norm", space, (count + tile - 1) / tile,
      KOKKOS_LAMBDA(const Index t) {
        const Index end = (t + 1) * tile < count ? (t + 1) * tile : count;
        S part = 0;
        LEXIKOS_SIMD_SUM(part)
        for (Index i = t * tile; i < end; ++i) part += g[i] * g[i];
        return static_cast<double>(part);
      },
      result);
}

template <class S>
Index count_not_finite(const ExecSpace& space, View1<const S> values) {
  const Buffer<double> count("Lexikos::adamw::count", 1);
  sum_into(
      "Lexikos::adamw::count_not_finite", space, static_cast<Index>(values.size()),
      // Infinity less itself is NaN too, and NaN equals nothing.
      KOKKOS_LAMBDA(const Index i) { return values(i) - values(i) == S(0) ? 0.0 : 1.0; },
      DeviceSum(count.data()));
  space.fence();
  return static_cast<Index>(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), count)(0));
}

template <class S>
void adamw_update(const ExecSpace& space, const AdamWSettings& settings, double learning_rate,
                  Index step, double scale, const Parameters<S>& parameters) {
  const Region region("Lexikos::adamw::update", {.bytes = 7.0 * bytes_of(parameters.values())});
  const S beta1 = static_cast<S>(settings.beta1);
  const S beta2 = static_cast<S>(settings.beta2);
  const S rest1 = static_cast<S>(1.0 - settings.beta1);
  const S rest2 = static_cast<S>(1.0 - settings.beta2);
  const S epsilon = static_cast<S>(settings.epsilon);
  const S rate = static_cast<S>(learning_rate / (1.0 - std::pow(settings.beta1, step)));
  const S unbias2 = static_cast<S>(1.0 / (1.0 - std::pow(settings.beta2, step)));
  const S factor = static_cast<S>(scale);
  const ArenaRange mine = parameters.moment_range();
  for (const Segment& segment : parameters.segments()) {
    const Index begin = std::max(segment.begin, mine.begin), end = std::min(segment.end, mine.end);
    if (begin >= end) continue;
    const S pull =
        static_cast<S>(segment.decay == Decay::none ? 0.0 : learning_rate * settings.weight_decay);
    const S target = segment.decay == Decay::to_one ? S(1) : S(0);
    S* const w = parameters.values().data() + begin;
    const S* const g = parameters.gradients().data() + begin;
    S* const m = parameters.first_moments().data() + (begin - mine.begin);
    S* const v = parameters.second_moments().data() + (begin - mine.begin);
    for_each(
        "Lexikos::adamw::update", space, end - begin, KOKKOS_LAMBDA(const Index i) {
          const S gi = g[i] * factor;
          const S mi = beta1 * m[i] + rest1 * gi;
          const S vi = beta2 * v[i] + rest2 * gi * gi;
          m[i] = mi;
          v[i] = vi;
          w[i] -= pull * (w[i] - target) + rate * mi / (::sqrt(vi * unbias2) + epsilon);
        });
  }
}

double clip_scale(const AdamWSettings& settings, double norm) {
  return settings.clip_norm > 0.0 && norm > settings.clip_norm ? settings.clip_norm / norm : 1.0;
}

#define LEXIKOS_ADAMW(S)                                                                       \
  template void squared_norm<S>(const ExecSpace&, View1<const S>, const DeviceSum&);           \
  template Index count_not_finite<S>(const ExecSpace&, View1<const S>);                        \
  template void adamw_update<S>(const ExecSpace&, const AdamWSettings&, double, Index, double, \
                                const Parameters<S>&);
LEXIKOS_ADAMW(float)
LEXIKOS_ADAMW(double)
#undef LEXIKOS_ADAMW

}  // namespace lexikos

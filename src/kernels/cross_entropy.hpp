// Softmax cross-entropy on one chunk of logits, forward and backward in one pass.
#pragma once

#include <cmath>

#include "kernels/elementary.hpp"
#include "kokkos_types.hpp"

namespace lexikos::cross_entropy {

/// Columns summed in S before the sum is folded into double.
inline constexpr Index tile = 4096;

/// nll[n] = log sum_v exp(logits[n v]) - logits[n target].
/// Reads targets [R]; overwrites nll [R] (nats), gradient [R V] with
/// scale * (softmax - onehot(target)), and logits [R V], which are work space afterwards. The
/// gradient may be of a narrower type A; of the same one it may be the logits themselves.
template <class S, class A>
void loss_and_gradient(const ExecSpace& space, View2<S> logits, View1<const TokenId> targets,
                       double scale, View1<double> nll, View2<A> gradient) {
  const Region region("Lexikos::cross_entropy::loss_and_gradient",
                      {.bytes = bytes_of(logits, gradient, targets, nll)});
  const Index v_count = logits.extent(1);
  for_rows(
      "Lexikos::cross_entropy::loss_and_gradient", space, logits.extent(0),
      KOKKOS_LAMBDA(const Lane& lane, const Index n) {
        S* const row = logits.data() + n * v_count;
        A* const out = gradient.data() + n * v_count;
        const Index target = targets.data()[n];
        const S at_target = row[target];
        const S largest = lane.template max<S>(v_count, [=](const Index v) { return row[v]; });
        double total = 0.0;
        for (Index begin = 0; begin < v_count; begin += tile) {
          S* const part = row + begin;
          const Index width = begin + tile < v_count ? tile : v_count - begin;
          total += static_cast<double>(lane.template sum<S>(width, [=](const Index v) {
            const S e = fast_exp(part[v] - largest);
            part[v] = e;
            return e;
          }));
        }
        const S factor = static_cast<S>(scale / total);
        lane.for_each(v_count, [=](const Index v) { out[v] = A(row[v] * factor); });
        lane.barrier();
        lane.once([=]() {
          out[target] = A(fast_exp(at_target - largest) * factor - static_cast<S>(scale));
          nll.data()[n] = ::log(total) + static_cast<double>(largest - at_target);
        });
      });
}

/// Only the loss. Reads logits [R V] and targets [R]; overwrites nll [R] (nats).
template <class S>
void loss(const ExecSpace& space, View2<const S> logits, View1<const TokenId> targets,
          View1<double> nll) {
  const Region region("Lexikos::cross_entropy::loss", {.bytes = bytes_of(logits, targets, nll)});
  const Index v_count = logits.extent(1);
  for_rows(
      "Lexikos::cross_entropy::loss", space, logits.extent(0),
      KOKKOS_LAMBDA(const Lane& lane, const Index n) {
        const S* const row = logits.data() + n * v_count;
        const S largest = lane.template max<S>(v_count, [=](const Index v) { return row[v]; });
        double total = 0.0;
        for (Index begin = 0; begin < v_count; begin += tile) {
          const S* const part = row + begin;
          const Index width = begin + tile < v_count ? tile : v_count - begin;
          total += static_cast<double>(lane.template sum<S>(
              width, [=](const Index v) { return fast_exp(part[v] - largest); }));
        }
        lane.once([=]() {
          nll.data()[n] = ::log(total) + static_cast<double>(largest - row[targets.data()[n]]);
        });
      });
}

/// largest[n] = 1 where the target's logit is the row's largest, the first of equal ones; else 0.
/// Reads logits [R V] and targets [R]; overwrites largest [R].
template <class S>
void is_largest(const ExecSpace& space, View2<const S> logits, View1<const TokenId> targets,
                View1<std::uint8_t> largest) {
  const Region region("Lexikos::cross_entropy::is_largest",
                      {.bytes = bytes_of(logits, targets, largest)});
  const Index v_count = logits.extent(1);
  for_rows(
      "Lexikos::cross_entropy::is_largest", space, logits.extent(0),
      KOKKOS_LAMBDA(const Lane& lane, const Index n) {
        const S* const row = logits.data() + n * v_count;
        const Index target = targets.data()[n];
        const S at_target = row[target];
        const Index above = lane.template sum<Index>(v_count, [=](const Index v) {
          return Index(row[v] > at_target || (row[v] == at_target && v < target));
        });
        lane.once([=]() { largest.data()[n] = above == 0 ? 1 : 0; });
      });
}

}  // namespace lexikos::cross_entropy

// The output head: logits = x W^T, W [V C], and the softmax cross-entropy of the targets.
// Chunk by chunk of positions, so that the logits of a whole batch never exist.
#pragma once

#include <cstdint>

#include "package.hpp"

namespace lexikos::head {

struct Settings {
  Index chunk;  // positions whose logits are in memory together
};

/// Reads deck table [head].
Settings read(const DeckTable& table);

template <class S>
class Head {
 public:
  Head(const Settings& settings, const ModelShape& shape);

  /// Parameter head.weight [V C].
  void declare(ParameterList& list);
  void plan(MemoryPlan& plan);
  void bind(const Parameters<S>& parameters, const Arena& arena);

  /// Loss, forward and backward in one pass. Reads x [N C], targets [N]; overwrites nll [N] (nats
  /// of each target) and dx [N C]; adds to the weight's gradient. Gradients are those of
  /// scale * sum_n nll[n].
  void loss_and_gradient(const ExecSpace& space, View2<const S> x, View1<const TokenId> targets,
                         double scale, View1<double> nll, View2<S> dx);

  /// The loss alone. Reads x [N C], targets [N]; overwrites nll [N].
  void loss(const ExecSpace& space, View2<const S> x, View1<const TokenId> targets,
            View1<double> nll);

  /// The same, and whether each target is the likeliest id: overwrites largest [N] with 1 or 0.
  void score(const ExecSpace& space, View2<const S> x, View1<const TokenId> targets,
             View1<double> nll, View1<std::uint8_t> largest);

  View2<S> weight() const { return weight_; }
  ArenaRange range(const ParameterList& list) const { return arena_range(list, id_, id_); }
  Counts counts() const;

 private:
  Settings settings_;
  ModelShape shape_;
  ParameterId id_;
  Slot logits_;
  View2<S> weight_, gradient_;
  const Arena* arena_ = nullptr;
};

}  // namespace lexikos::head

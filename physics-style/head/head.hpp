// The output head: logits = x W^T, W [V C], and the softmax cross-entropy of the targets.
// Chunk by chunk of positions, so that the logits of a whole batch never exist.
#pragma once

#include <cstdint>
#include <memory>

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
  virtual ~Head() = default;

  /// Adds parameter head.weight [V C]; reserves memory.
  virtual void declare(Parameters<S>& parameters, Memory& memory) = 0;
  /// To be called where parameters have changed: what was made from them is made again.
  virtual void refresh(const ExecSpace& space) = 0;

  /// Loss, forward and backward in one pass. Reads x [N C], targets [N]; overwrites nll [N] (nats
  /// of each target) and dx [N C]; adds to the weight's gradient. Gradients are those of
  /// scale * sum_n nll[n].
  virtual void loss_and_gradient(const ExecSpace& space, View2<const S> x,
                                 View1<const TokenId> targets, double scale, View1<double> nll,
                                 View2<S> dx) = 0;

  /// Only the loss. Reads x [N C], targets [N]; overwrites nll [N].
  virtual void loss(const ExecSpace& space, View2<const S> x, View1<const TokenId> targets,
                    View1<double> nll) = 0;

  /// The loss of each target, as `loss`, and whether it is the likeliest id: overwrites largest [N]
  /// with 1 or 0.
  virtual void score(const ExecSpace& space, View2<const S> x, View1<const TokenId> targets,
                     View1<double> nll, View1<std::uint8_t> largest) = 0;

  /// Reads x [N C]; overwrites out [N V].
  virtual void logits(const ExecSpace& space, View2<const S> x, View2<S> out) const = 0;

  virtual const Weight<S>& weight() const = 0;
  virtual Costs costs() const = 0;
};

/// Under Compute::bf16 products multiply x, W and the logits' gradients rounded to bf16; the
/// logits, softmax and loss stay in S. Errors (Status::deck): bf16 with a model that is not fp32.
template <class S>
std::unique_ptr<Head<S>> make(const Settings& settings, const ModelShape& shape, Compute compute);

}  // namespace lexikos::head

// The input interface: the map from a token id to the vector that enters the transformer.
// Every interface sees the distinct tokens of a step only; spreading rows to positions and summing
// gradients back is the machine's work (kernels/token_rows.hpp).
#pragma once

#include <memory>

#include "outputs/columns.hpp"
#include "package.hpp"

namespace lexikos {

template <class S>
class Embedding {
 public:
  virtual ~Embedding() = default;

  /// Adds the interface's parameters, named embedding.<package>.<part>, and reserves memory for up
  /// to shape.distinct_max tokens. The head's parameters are there already, for interfaces that
  /// share them.
  virtual void declare(Parameters<S>& parameters, Memory& memory) = 0;

  /// e[u] = E(tokens[u]). Reads tokens [U], U <= distinct_max, in any order, repeats allowed;
  /// overwrites e [U C]. Keeps what backward reads.
  virtual void forward(const ExecSpace& space, View1<const TokenId> tokens, View2<S> e) = 0;

  /// Adds to the gradients of the parameters. `tokens` are those of the last forward and distinct;
  /// reads de [U C].
  virtual void backward(const ExecSpace& space, View1<const TokenId> tokens, View2<const S> de) = 0;

  virtual Costs costs() const = 0;

  /// Numbers of its own for each step's row in history.h5, measured after the update; valid as long
  /// as this object.
  virtual std::vector<MeasuredColumn> columns() const { return {}; }
};

}  // namespace lexikos

// A matrix of the parameters as products read it.
#pragma once

#include "kernels/narrow.hpp"
#include "state/memory.hpp"
#include "state/parameters.hpp"

namespace lexikos {

/// A weight of type S whose products multiply numbers of type A: the weight itself where A is S,
/// else a rounded copy of it that lies in memory.
template <class S, class A>
class Factor : public Weight<S> {
 public:
  Factor() = default;
  /// Reserves the copy, labelled `label`, where there is one.
  Factor(const Weight<S>& weight, Memory& memory, const std::string& label) : Weight<S>(weight) {
    const std::vector<Index>& shape = weight.info().shape;
    const Index rows = shape.front();
    if constexpr (rounds) copy_ = memory.rows<A>(label, rows, weight.info().size / rows);
  }

  /// To be called where values have changed: rounds them into the copy.
  void refresh([[maybe_unused]] const ExecSpace& space) const {
    if constexpr (rounds) narrow_into<A>(space, this->value2(), copy_(copy_.count()));
  }

  /// What products multiply, two-dimensional as value2.
  View2<const A> factor() const {
    if constexpr (rounds) {
      return copy_(copy_.count());
    } else {
      return this->value2();
    }
  }

 private:
  static constexpr bool rounds = !std::is_same_v<S, A>;
  Rows<A> copy_;
};

}  // namespace lexikos

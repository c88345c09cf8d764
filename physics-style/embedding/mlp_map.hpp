// What `flat_mlp` and `factored_mlp` share: code -> RMSNorm -> W_1 -> GELU -> W_2, from the width
// of the code to the model's, without biases.
#pragma once

#include <cmath>
#include <string>

#include "kernels/gelu.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/rmsnorm.hpp"
#include "package.hpp"

namespace lexikos {

template <class S>
class MlpMap {
 public:
  MlpMap(Index code_width, Index hidden, const ModelShape& shape)
      : code_width_(code_width), hidden_(hidden), shape_(shape) {}

  /// Parameters <prefix>.norm [E], <prefix>.up [F E], <prefix>.down [D F].
  void declare(ParameterList& list, const std::string& prefix) {
    const auto init = [](Index inputs) {
      return Init{.deviation = 1.0 / std::sqrt(static_cast<double>(inputs))};
    };
    norm_ = list.add(prefix + ".norm", {code_width_}, {.mean = 1.0}, Decay::none);
    up_ = list.add(prefix + ".up", {hidden_, code_width_}, init(code_width_), Decay::to_zero);
    down_ =
        list.add(prefix + ".down", {shape_.width, hidden_},
                 {.deviation = shape_.init_deviation / std::sqrt(0.5 * hidden_)}, Decay::to_zero);
  }

  /// Kept memory, and scratch of the phase that the caller has begun.
  void plan(MemoryPlan& plan) {
    const Index u = shape_.distinct_max;
    code_slot_ = plan.keep<S>("codes", u * code_width_);
    normal_ = plan.keep<S>("normalised codes", u * code_width_);
    rstd_ = plan.keep<S>("codes' rstd", u);
    before_ = plan.keep<S>("input mlp before gelu", u * hidden_);
    after_ = plan.keep<S>("input mlp after gelu", u * hidden_);
    dnormal_ = plan.scratch<S>("gradient of normalised codes", u * code_width_);
    dcode_ = plan.scratch<S>("gradient of codes", u * code_width_);
    partial_ = plan.scratch<S>("input norm partial sums", rmsnorm::partial_rows(u) * code_width_);
  }

  void bind(const Parameters<S>& parameters, const Arena& arena) {
    parameters_ = &parameters;
    arena_ = &arena;
  }

  /// Where the codes go before forward. [U E]
  View2<S> code(Index u) const { return arena_->view2<S>(code_slot_, u, code_width_); }

  /// e = W_2 gelu(W_1 norm(code)). Reads code(U); overwrites e [U D].
  void forward(const ExecSpace& space, View2<S> e) {
    const Index u = e.extent(0);
    const View2<S> y = arena_->view2<S>(normal_, u, code_width_);
    const View2<S> before = arena_->view2<S>(before_, u, hidden_);
    const View2<S> after = arena_->view2<S>(after_, u, hidden_);
    rmsnorm::forward<S>(space, code(u), parameters_->value1(norm_), epsilon, y,
                        arena_->view1<S>(rstd_, u));
    gemm<S>(space, Op::none, Op::transpose, S(1), y, parameters_->value2(up_), S(0), before);
    gelu::forward<S>(space, before, after);
    gemm<S>(space, Op::none, Op::transpose, S(1), after, parameters_->value2(down_), S(0), e);
  }

  /// Adds to the parameters' gradients; returns the gradient of the codes [U E], valid until the
  /// next phase. Reads de [U D] and what forward kept.
  View2<S> backward(const ExecSpace& space, View2<const S> de) {
    const Index u = de.extent(0);
    const View2<S> before = arena_->view2<S>(before_, u, hidden_);
    const View2<S> after = arena_->view2<S>(after_, u, hidden_);
    const View2<S> y = arena_->view2<S>(normal_, u, code_width_);
    const View2<S> dy = arena_->view2<S>(dnormal_, u, code_width_);
    const View2<S> dcode = arena_->view2<S>(dcode_, u, code_width_);
    gemm<S>(space, Op::transpose, Op::none, S(1), de, after, S(1), parameters_->gradient2(down_));
    gemm<S>(space, Op::none, Op::none, S(1), de, parameters_->value2(down_), S(0), after);
    gelu::backward<S>(space, after, before);
    gemm<S>(space, Op::transpose, Op::none, S(1), before, y, S(1), parameters_->gradient2(up_));
    gemm<S>(space, Op::none, Op::none, S(1), before, parameters_->value2(up_), S(0), dy);
    Kokkos::deep_copy(space, dcode, S(0));
    rmsnorm::backward<S>(space, dy, code(u), parameters_->value1(norm_), arena_->view1<S>(rstd_, u),
                         dcode, parameters_->gradient1(norm_),
                         arena_->view2<S>(partial_, rmsnorm::partial_rows(u), code_width_));
    return dcode;
  }

  Index parameter_count() const { return fixed_count() + hidden_ * unit_count(); }
  /// Parameters that do not depend on the hidden width, and those of one hidden unit.
  Index fixed_count() const { return code_width_; }
  Index unit_count() const { return code_width_ + shape_.width; }
  double flops_per_distinct() const { return 6.0 * hidden_ * unit_count(); }

 private:
  // Codes start out small (0.02 and less): the epsilon must be small beside their mean square.
  static constexpr double epsilon = 1e-8;

  Index code_width_, hidden_;  // E, F
  ModelShape shape_;
  ParameterId norm_, up_, down_;
  Slot code_slot_, normal_, rstd_, before_, after_, dnormal_, dcode_, partial_;
  const Parameters<S>* parameters_ = nullptr;
  const Arena* arena_ = nullptr;
};

}  // namespace lexikos

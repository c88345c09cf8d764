// What `flat_mlp` and `factored_mlp` share: code -> RMSNorm -> W_1 -> GELU -> W_2, from the width
// of the code to the model's, without biases.
#pragma once

#include <cmath>
#include <string>

#include "embedding/match.hpp"
#include "kernels/gelu.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/rmsnorm.hpp"

namespace lexikos {

template <class S>
class MlpMap {
 public:
  /// `code_parameters`: those that make the codes, for a hidden width that matches a total.
  MlpMap(Index code_width, const MatchedSize& hidden, Index code_parameters,
         const ModelShape& shape)
      : code_width_(code_width),
        hidden_(hidden.size(shape, code_parameters + code_width, code_width + shape.width)),
        matched_to_(hidden.target(shape)),
        shape_(shape) {}

  /// Parameters <prefix>.norm [E], <prefix>.up [F E], <prefix>.down [D F]; memory, of which scratch
  /// in the phase that the caller has begun.
  void declare(Parameters<S>& parameters, Memory& memory, const std::string& prefix) {
    const Index e = code_width_, f = hidden_, d = shape_.width, u = shape_.distinct_max;
    const Init up{.deviation = 1.0 / std::sqrt(static_cast<double>(e))};
    const Init down{.deviation = shape_.init_deviation / std::sqrt(0.5 * f)};
    norm_ = parameters.add(prefix + ".norm", {e}, {.mean = 1.0}, Decay::none);
    up_ = parameters.add(prefix + ".up", {f, e}, up, Decay::to_zero);
    down_ = parameters.add(prefix + ".down", {d, f}, down, Decay::to_zero);

    code_ = memory.rows<S>("codes", u, e);
    normal_ = memory.rows<S>("normalised codes", u, e);
    rstd_ = memory.rows<S>("codes' rstd", u);
    before_ = memory.rows<S>("input mlp before gelu", u, f);
    after_ = memory.rows<S>("input mlp after gelu", u, f);
    dnormal_ = memory.scratch<S>("gradient of normalised codes", u, e);
    dcode_ = memory.scratch<S>("gradient of codes", u, e);
    partial_ = memory.scratch<S>("input norm partial sums", rmsnorm::partial_rows(u), e);
  }

  /// Where the codes go before forward. [U E]
  View2<S> code(Index u) const { return code_(u); }

  /// e = W_2 gelu(W_1 norm(code)). Reads code(U); overwrites e [U D].
  void forward(const ExecSpace& space, View2<S> e) {
    const Index u = e.extent(0);
    rmsnorm::forward<S>(space, code_(u), norm_.value1(), epsilon, normal_(u), rstd_.column(u));
    gemm<S>(space, Op::none, Op::transpose, S(1), normal_(u), up_.value2(), S(0), before_(u));
    gelu::forward<S>(space, before_(u), after_(u));
    gemm<S>(space, Op::none, Op::transpose, S(1), after_(u), down_.value2(), S(0), e);
  }

  /// Adds to the parameters' gradients; returns the gradient of the codes [U E], valid until the
  /// next phase. Reads de [U D] and what forward kept.
  View2<S> backward(const ExecSpace& space, View2<const S> de) {
    const Index u = de.extent(0);
    const View2<S> before = before_(u), after = after_(u), dcode = dcode_(u);
    gemm<S>(space, Op::transpose, Op::none, S(1), de, after, S(1), down_.gradient2());
    gemm<S>(space, Op::none, Op::none, S(1), de, down_.value2(), S(0), after);
    gelu::backward<S>(space, after, before);
    gemm<S>(space, Op::transpose, Op::none, S(1), before, normal_(u), S(1), up_.gradient2());
    gemm<S>(space, Op::none, Op::none, S(1), before, up_.value2(), S(0), dnormal_(u));
    Kokkos::deep_copy(space, dcode, S(0));
    rmsnorm::backward<S>(space, dnormal_(u), code_(u), norm_.value1(), rstd_.column(u), dcode,
                         norm_.gradient1(), partial_(rmsnorm::partial_rows(u)));
    return dcode;
  }

  Costs costs() const {
    return {.matched_to = matched_to_,
            .flops_per_distinct = 6.0 * hidden_ * (code_width_ + shape_.width)};
  }

 private:
  // Codes start out small (0.02 and less): the epsilon must be small beside their mean square.
  static constexpr double epsilon = 1e-8;

  Index code_width_, hidden_;  // E, F
  Index matched_to_;
  ModelShape shape_;
  Weight<S> norm_, up_, down_;
  Rows<S> code_, normal_, rstd_, before_, after_, dnormal_, dcode_, partial_;
};

}  // namespace lexikos

// The rate of matrix products in this process: the bound that a step's speed is measured against.
#pragma once

#include <vector>

#include "head/head.hpp"
#include "kernels/gemm/gemm.hpp"
#include "transformer/transformer.hpp"

namespace lexikos {

/// One product of a step, C [m n] = op(A) op(B) with inner extent k, `count` times a step.
struct StepProduct {
  Op op_a, op_b;
  Index m, n, k;
  double count;
};

/// The products of a forward and backward pass over n positions, attention's aside.
std::vector<StepProduct> step_products(const transformer::Settings& transformer, Index vocabulary,
                                       Index chunk, Index n);

struct GemmRate {
  double square = 0;  // FLOP/s of a product of large square matrices
  double step = 0;    // FLOP/s over step_products, each as often as the step has it
  /// What counts as the machine's limit: the larger of the two.
  double sustained() const { return square > step ? square : step; }
};

/// Measures for about two seconds with buffers of its own. FLOP: a multiply-add is 2.
template <class S>
GemmRate measure_gemm_rate(const std::vector<StepProduct>& products);

/// Times a step's products between its steps: what the machine sustains now, next to what else it
/// does.
template <class S>
class GemmProbe {
 public:
  explicit GemmProbe(std::vector<StepProduct> products);
  /// FLOP/s over the products, each run once and weighted by its count.
  double pass();

 private:
  std::vector<StepProduct> products_;
  Buffer<S> a_, b_, c_;
};

}  // namespace lexikos

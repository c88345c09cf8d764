#include "transformer/transformer.hpp"

#include "transformer/blocks.hpp"
#include "utils/error.hpp"

namespace lexikos::transformer {

template <class S>
std::unique_ptr<Transformer<S>> make(const Settings& settings, const ModelShape& shape,
                                     const Execution& execution) {
  if (execution.compute == Compute::own) {
    return std::make_unique<Blocks<S, S>>(settings, shape, execution.recompute);
  }
  if constexpr (std::is_same_v<S, Wide<Bf16>>) {
    return std::make_unique<Blocks<S, Bf16>>(settings, shape, execution.recompute);
  } else {
    fail(Status::deck, "run.compute = bf16 goes only with fp32 models");
  }
}

template std::unique_ptr<Transformer<float>> make<float>(const Settings&, const ModelShape&,
                                                         const Execution&);
template std::unique_ptr<Transformer<double>> make<double>(const Settings&, const ModelShape&,
                                                           const Execution&);

}  // namespace lexikos::transformer

// Where the tensors of a LlamaForCausalLM stand among the parameters of a model here.
#pragma once

#include <string>
#include <vector>

#include "weights/llama_config.hpp"
#include "weights/safetensors_writer.hpp"

namespace lexikos {

/// One tensor of the file, and the rows of our parameter that it holds. Both are row-major with
/// rows of one output each, so that a tensor is one stretch of the parameter: values
/// [first, first + tensor.size()).
struct LlamaTensor {
  TensorShape tensor;
  std::string parameter;  ///< "": the input table, materialised or stored by the interface
  Index first = 0;
};

/// All of them in the order of a forward pass. qkv holds q, k and v one below the other, up the
/// gate above the up-projection; rotary pairs (i, i + E/2) and the order of heads are the same in
/// both. A tied model has no lm_head.weight.
std::vector<LlamaTensor> llama_tensors(const LlamaConfig& config);

}  // namespace lexikos

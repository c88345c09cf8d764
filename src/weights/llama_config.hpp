// config.json of a Llama in the layout of Hugging Face's transformers: model_type "llama".
#pragma once

#include <string>

#include "kokkos_types.hpp"

namespace lexikos {

/// What a LlamaForCausalLM without biases is made of.
struct LlamaConfig {
  Index vocabulary = 0;  // rows of the tables, padding included
  Index width = 0, mlp_width = 0, layers = 0, heads = 0, kv_heads = 0;
  Index context = 0;  // max_position_embeddings
  double norm_epsilon = 1e-6, rope_base = 10000.0;
  double init_deviation = 0.02;
  bool tied = false;       // one matrix for input and output
  Index end_of_text = -1;  // eos_token_id; -1: unknown
};

/// The text of config.json; `type` is "float32" or "bfloat16". The rotary base is given in both
/// places where versions of transformers look for it.
std::string llama_config_json(const LlamaConfig& config, const std::string& type);

/// Reads a folder's config.json. Where a key is absent, transformers' own default holds. Throws
/// Error(file) naming the key: another architecture or activation, biases, scaled or partial rotary
/// positions, heads that are not width / heads wide, quantised weights; no file, no JSON, no
/// number.
LlamaConfig read_llama_config(const std::string& folder);

}  // namespace lexikos

// config.json of a Llama, or of a relative of it, in the layout of Hugging Face's transformers:
// model_type "llama", or "mistral" where all layers have a sliding window, or "qwen3"
// where heads of queries and keys are normalised.
#pragma once

#include <string>
#include <vector>

#include "kokkos_types.hpp"

namespace lexikos {

/// What such a model without biases is made of.
struct LlamaConfig {
  Index vocabulary = 0;  // rows of the tables, padding included
  Index width = 0, mlp_width = 0, layers = 0, heads = 0, kv_heads = 0;
  Index context = 0;  // max_position_embeddings
  double norm_epsilon = 1e-6, rope_base = 10000.0;
  double init_deviation = 0.02;  // written, never read: it computes nothing
  Index window = 0;              // keys that a query of a windowed layer sees; 0: no layer has one
  std::vector<bool> windowed;    // [layers]
  bool qk_norm = false;          // gains of queries and keys, shared by the heads
  bool tied = false;             // one matrix for input and output
  Index end_of_text = -1;        // eos_token_id; -1: unknown, or several
};

/// The architecture of transformers that computes this model, "LlamaForCausalLM". Throws
/// Error(deck) where none does.
std::string architecture_of(const LlamaConfig& config);

/// The text of config.json; `type` is "float32" or "bfloat16". The rotary base is given in both
/// places where versions of transformers look for it.
std::string llama_config_json(const LlamaConfig& config, const std::string& type);

/// Reads a folder's config.json. Where a key is absent, transformers' own default holds; a key that
/// changes no number the model computes may hold anything. Throws Error(file) naming the key and
/// its value: an architecture that architecture_of never says, another activation, biases, scaled
/// or partial rotary positions, two rotary bases, heads that are not width / heads wide, quantised
/// weights, a model in text_config; no file (the line ends with `advice`), no JSON, no number.
LlamaConfig read_llama_config(const std::string& folder, const std::string& advice);

}  // namespace lexikos

#include "jobs/exchange/llama_tensors.hpp"

namespace lexikos {

std::vector<LlamaTensor> llama_tensors(const LlamaConfig& config) {
  const Index v = config.vocabulary, c = config.width, f = config.mlp_width;
  const Index kv = c / config.heads * config.kv_heads;
  std::vector<LlamaTensor> all;
  all.push_back({{"model.embed_tokens.weight", {v, c}}, config.tied ? "head.weight" : ""});
  for (Index l = 0; l < config.layers; ++l) {
    const std::string theirs = "model.layers." + std::to_string(l) + ".";
    const std::string ours = "transformer." + std::to_string(l) + ".";
    const auto add = [&](const char* name, std::vector<Index> shape, const char* parameter,
                         Index first = 0) {
      all.push_back({{theirs + name + ".weight", std::move(shape)}, ours + parameter, first});
    };
    add("input_layernorm", {c}, "attention_norm");
    add("self_attn.q_proj", {c, c}, "qkv");
    add("self_attn.k_proj", {kv, c}, "qkv", c * c);
    add("self_attn.v_proj", {kv, c}, "qkv", (c + kv) * c);
    if (config.qk_norm) {
      add("self_attn.q_norm", {c / config.heads}, "q_norm");
      add("self_attn.k_norm", {c / config.heads}, "k_norm");
    }
    add("self_attn.o_proj", {c, c}, "out");
    add("post_attention_layernorm", {c}, "mlp_norm");
    add("mlp.gate_proj", {f, c}, "up");
    add("mlp.up_proj", {f, c}, "up", f * c);
    add("mlp.down_proj", {c, f}, "down");
  }
  all.push_back({{"model.norm.weight", {c}}, "transformer.norm"});
  if (!config.tied) all.push_back({{"lm_head.weight", {v, c}}, "head.weight"});
  return all;
}

}  // namespace lexikos

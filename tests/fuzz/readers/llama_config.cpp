// weights/llama_config: what was accepted has sizes that fit each other, and written again is read
// as the same model.
#include "weights/llama_config.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "fuzz/reader.hpp"

namespace {

using lexikos::Index;
using lexikos::LlamaConfig;
using lexikos::Status;
namespace fuzz = lexikos::fuzz;

void check(const LlamaConfig& c) {
  for (const Index size :
       {c.vocabulary, c.width, c.mlp_width, c.layers, c.heads, c.kv_heads, c.context}) {
    fuzz::require(size >= 1, "every size is at least 1");
  }
  fuzz::require(c.width % c.heads == 0 && c.width / c.heads % 2 == 0, "heads have an even width");
  fuzz::require(c.heads % c.kv_heads == 0, "heads share keys evenly");
  fuzz::require(static_cast<Index>(c.windowed.size()) == c.layers, "every layer has its window");
  const bool any = std::count(c.windowed.begin(), c.windowed.end(), true) > 0;
  fuzz::require(any == (c.window > 0), "there is a window where a layer has one");
  for (const double number : {c.norm_epsilon, c.rope_base}) {
    fuzz::require(std::isfinite(number) && number > 0, "every real is above 0 and finite");
  }
  fuzz::require(c.end_of_text >= -1, "no id is below -1");
}

bool same(const LlamaConfig& a, const LlamaConfig& b) {
  return a.vocabulary == b.vocabulary && a.width == b.width && a.mlp_width == b.mlp_width &&
         a.layers == b.layers && a.heads == b.heads && a.kv_heads == b.kv_heads &&
         a.context == b.context && a.norm_epsilon == b.norm_epsilon && a.rope_base == b.rope_base &&
         a.window == b.window && a.windowed == b.windowed && a.qk_norm == b.qk_norm &&
         a.tied == b.tied && a.end_of_text == b.end_of_text;
}

std::optional<LlamaConfig> read(std::string_view text) {
  fuzz::write_input("config.json", text);
  std::optional<LlamaConfig> config;
  fuzz::accepts(Status::file,
                [&] { config = lexikos::read_llama_config(fuzz::folder(), "check the folder"); });
  return config;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::optional<LlamaConfig> config = read(fuzz::text_of(data, size));
  if (!config) return 0;
  check(*config);
  std::string text;
  if (!fuzz::accepts(Status::deck,
                     [&] { text = lexikos::llama_config_json(*config, "float32"); })) {
    return 0;
  }
  const std::optional<LlamaConfig> again = read(text);
  fuzz::require(again.has_value(), "what was accepted, written again, is accepted: " + text);
  fuzz::require(same(*config, *again), "what was accepted, written again, is the same: " + text);
  return 0;
}

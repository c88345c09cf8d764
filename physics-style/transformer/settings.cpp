#include "transformer/settings.hpp"

namespace lexikos::transformer {

Settings read(const DeckTable& table) {
  Settings s;
  s.layers =
      table.integer({.name = "layers", .doc = "number of blocks, L"}, 4, Between(1, most_layers));
  s.width = table.integer({.name = "width", .doc = "model width, D"}, 256, Between(1, most_width));
  s.heads = table.integer({.name = "heads", .doc = "attention heads, H; divides width"}, 4,
                          Between(1, most_width));
  if (s.width % s.heads != 0) {
    table.reject("heads", "does not divide transformer.width = " + std::to_string(s.width));
  }
  if (s.head_width() % 2 != 0) {
    table.reject("heads", "gives heads of odd width " + std::to_string(s.head_width()) +
                              "; rotary positions need an even one");
  }
  s.kv_heads = table.integer({.name = "kv_heads",
                              .doc = "heads of keys and values, G; divides heads",
                              .default_note = "heads"},
                             s.heads, Between(1, most_width));
  if (s.heads % s.kv_heads != 0) {
    table.reject("kv_heads", "does not divide transformer.heads = " + std::to_string(s.heads));
  }
  s.context =
      table.integer({.name = "context", .doc = "positions of a sequence, T", .unit = "tokens"}, 256,
                    Between(1, most_context));
  s.mlp = table.choice({.name = "mlp", .doc = "the block's hidden layer"}, "swiglu",
                       {"swiglu", "gelu"}) == "swiglu"
              ? Mlp::swiglu
              : Mlp::gelu;
  s.mlp_width = table.integer(
      {.name = "mlp_width", .doc = "hidden width of the MLP", .default_note = "4 width"},
      4 * s.width, Between(1, 4.0 * most_width));
  s.rope_base = table.real({.name = "rope_base", .doc = "base of the rotary wavelengths"}, 10000.0,
                           Between(1, 1e12));
  s.norm_epsilon = table.real({.name = "norm_epsilon", .doc = "added to the mean square"}, 1e-5,
                              Between(1e-30, 1));
  s.init_deviation = table.real(
      {.name = "init_deviation",
       .doc = "of initial matrices; those that add to the residual get it over sqrt(2 L)"},
      0.02, Between(0, 1000));
  s.qk_norm = table.flag(
      {.name = "qk_norm", .doc = "normalise each head of queries and keys before it is turned"},
      false);
  s.window = table.integer({.name = "window",
                            .doc = "keys that a query sees at most, itself included; 0: all before",
                            .unit = "tokens"},
                           0, Between(0, most_context));
  s.window_pattern = table.integers(
      {.name = "window_pattern",
       .doc =
           "1 for a layer that has the window, 0 for one that has not; repeated over the layers"},
      {1}, Between(0, 1));
  if (s.window_pattern.empty()) table.reject("window_pattern", "is empty");
  if (s.window_pattern.size() > most_layers) {
    table.reject("window_pattern", "has more than " + std::to_string(most_layers) + " layers");
  }
  return s;
}

Execution read_execution(const Deck& deck) {
  Execution e;
  const std::string compute = deck.table("run").choice(
      {.name = "compute",
       .doc = "what products multiply and activations are stored in; all else stays fp32"},
      "fp32", {"fp32", "bf16"});
  if (compute == "bf16") e.compute = Compute::bf16;
  const std::string recompute = deck.table("model").choice(
      {.name = "recompute",
       .doc = "what backward computes again instead of keeping it: less memory, more time"},
      "none", {"none", "mlp", "block"});
  if (recompute == "mlp") e.recompute = Recompute::mlp;
  if (recompute == "block") e.recompute = Recompute::block;
  return e;
}

}  // namespace lexikos::transformer

// What the transformer reads from the deck.
#pragma once

#include <vector>

#include "package.hpp"

namespace lexikos::transformer {

enum class Mlp { swiglu, gelu };

/// What the deck may ask for: beyond any model there is, and few enough that sizes made of them
/// stay far below 2^63.
inline constexpr Index most_layers = 4096, most_width = 1 << 20, most_context = 1 << 24;

struct Settings {
  Index layers, width, heads, kv_heads, mlp_width, context;
  Mlp mlp;
  bool qk_norm;  // a norm of each head of queries and keys
  double rope_base, norm_epsilon, init_deviation;
  Index window;                              // W: keys that a query sees at most; 0: all before it
  std::vector<std::int64_t> window_pattern;  // 1: a layer with the window; repeated over layers
  Index head_width() const { return width / heads; }
  /// Rows of W_qkv: those of all query heads, then of the key and of the value heads.
  Index qkv_width() const { return width + 2 * kv_heads * head_width(); }
  /// Of this layer; 0: none.
  Index window_of(Index layer) const {
    return window_pattern[layer % window_pattern.size()] == 1 ? window : 0;
  }
  /// Rows of the first MLP matrix for each hidden unit: gate and up, or only up.
  Index mlp_inputs() const { return mlp == Mlp::swiglu ? 2 : 1; }
};

/// Reads deck table [transformer]. Throws Error(deck) where widths do not divide.
Settings read(const DeckTable& table);

/// What backward computes a second time instead of keeping it from forward: nothing; the MLP's
/// hidden layer; or whole blocks, of which only the input is kept.
enum class Recompute { none, mlp, block };

/// How a transformer is computed: nothing of what it computes depends on `recompute`, and on
/// `compute` only by rounding.
struct Execution {
  Compute compute = Compute::own;
  Recompute recompute = Recompute::none;
};

/// Reads run.compute and model.recompute.
Execution read_execution(const Deck& deck);

}  // namespace lexikos::transformer

// A fixed binary code of the token id, lifted to C coordinates; nothing is trained.
//   code(i)  = the K = ceil(log2 V) bits of i, most significant first
//   code'(i) = A code(i) xor s over GF(2), A invertible (deck: recoding = "affine")
// Source: Bochkov, "Do Language Models Need a Trainable Input Embedding Table?", arXiv 2605.09751
// and its successor (methods: K, tiling and recoding are stated there; how A is drawn is ours).
#pragma once

#include <array>

#include "embedding/embedding.hpp"

namespace lexikos::binary_code {

/// Token ids have at most this many bits.
inline constexpr int max_bits = 32;

/// K = ceil(log2 V), at least 1.
int bits_of(Index vocabulary);

/// An affine map of K-bit words over GF(2).
struct Recoding {
  std::array<std::uint32_t, max_bits> row{};  // row r gives bit K-1-r of the result
  std::uint32_t shift = 0;                    // s
  int bits = 0;                               // K
};

/// The map that changes nothing.
Recoding canonical(int bits);

/// A drawn uniformly from all K x K matrices until it is invertible, s uniformly; both from the
/// seed only, so every rank and every restart has the same code.
Recoding affine(int bits, std::uint64_t seed);

/// The recoded word of a token.
KOKKOS_INLINE_FUNCTION std::uint32_t recode(const Recoding& recoding, std::uint32_t token) {
  std::uint32_t word = 0;
  for (int r = 0; r < recoding.bits; ++r) {
    std::uint32_t parity = recoding.row[r] & token;
    parity ^= parity >> 16;
    parity ^= parity >> 8;
    parity ^= parity >> 4;
    parity ^= parity >> 2;
    parity ^= parity >> 1;
    word = (word << 1) | (parity & 1u);
  }
  return word ^ recoding.shift;
}

/// What deck table [embedding.binary_code] says.
struct Settings {
  static constexpr const char* name = "binary_code";
  bool affine = false;      // recoded; else the id's own bits
  bool interleave = false;  // each bit repeated in place; else the code as a whole
  bool centred = false;     // bits are -1 and 1; else 0 and 1
  std::uint64_t seed = 0;   // of the recoding

  static Settings read(const DeckTable& table);
  /// Throws Error(deck) where a code is longer than the model is wide.
  template <class S>
  std::unique_ptr<Embedding<S>> make(const ModelShape& shape) const;
};

}  // namespace lexikos::binary_code

#include "embedding/binary_code/binary_code.hpp"

#include "kernels/philox.hpp"
#include "utils/error.hpp"

namespace lexikos::binary_code {
namespace {

/// Rank K over GF(2), by elimination on copies of the rows.
bool invertible(Recoding a) {
  for (int column = 0; column < a.bits; ++column) {
    int pivot = column;
    while (pivot < a.bits && ((a.row[pivot] >> column) & 1u) == 0) ++pivot;
    if (pivot == a.bits) return false;
    std::swap(a.row[pivot], a.row[column]);
    for (int r = column + 1; r < a.bits; ++r) {
      if ((a.row[r] >> column) & 1u) a.row[r] ^= a.row[column];
    }
  }
  return true;
}

template <class S>
class BinaryCode : public Embedding<S> {
 public:
  BinaryCode(const Settings& settings, const ModelShape& shape)
      : settings_(settings),
        recoding_(settings.affine ? affine(bits_of(shape.vocabulary), settings.seed)
                                  : canonical(bits_of(shape.vocabulary))) {}

  void declare(Parameters<S>&, Memory&) override {}

  void forward(const ExecSpace& space, View1<const TokenId> tokens, View2<S> e) override {
    lift(space, tokens, e);
  }

  void backward(const ExecSpace&, View1<const TokenId>, View2<const S>) override {}

  Costs costs() const override { return {}; }

  /// Public because device lambdas may not live in private functions.
  void lift(const ExecSpace& space, View1<const TokenId> tokens, View2<S> e) const {
    const Recoding recoding = recoding_;
    const Index width = e.extent(1);
    const int bits = recoding.bits;
    // Interleaved, each bit stands side by side as often as tiling would repeat it: the first
    // C mod K bits once more than the others.
    const bool interleave = settings_.interleave;
    const Index copies = width / bits, longer = width % bits, end_of_longer = longer * (copies + 1);
    const S zero = settings_.centred ? S(-1) : S(0);
    for_rows(
        "Lexikos::binary_code::forward", space, tokens.extent(0),
        KOKKOS_LAMBDA(const Lane& lane, const Index u) {
          const std::uint32_t word = recode(recoding, tokens.data()[u]);
          S* const to = e.data() + u * width;
          lane.for_each(width, [=](const Index c) {
            const Index bit = !interleave         ? c % bits
                              : c < end_of_longer ? c / (copies + 1)
                                                  : longer + (c - end_of_longer) / copies;
            to[c] = (word >> (bits - 1 - bit)) & 1u ? S(1) : zero;
          });
        });
  }

 private:
  Settings settings_;
  Recoding recoding_;
};

}  // namespace

int bits_of(Index vocabulary) {
  int bits = 1;
  while ((Index{1} << bits) < vocabulary) ++bits;
  return bits;
}

Recoding canonical(int bits) {
  Recoding identity;
  identity.bits = bits;
  for (int r = 0; r < bits; ++r) identity.row[r] = 1u << (bits - 1 - r);
  return identity;
}

Recoding affine(int bits, std::uint64_t seed) {
  const std::uint64_t stream = stream_of("embedding.binary_code.recoding");
  const std::uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1u;
  Recoding drawn;
  drawn.bits = bits;
  std::uint64_t next = 0;
  do {
    for (int r = 0; r < bits; ++r) drawn.row[r] = random_words(seed, stream, next++).word[0] & mask;
  } while (!invertible(drawn));
  drawn.shift = random_words(seed, stream, next).word[0] & mask;
  return drawn;
}

Settings Settings::read(const DeckTable& table) {
  Settings s;
  s.affine = table.choice({.name = "recoding",
                           .doc = "the id's bits, or an invertible affine map of them over GF(2)"},
                          "canonical", {"canonical", "affine"}) == "affine";
  s.interleave =
      table.choice({.name = "lift", .doc = "the code repeated as a whole, or each bit in place"},
                   "tile", {"tile", "interleave"}) == "interleave";
  s.centred = table.choice({.name = "values", .doc = "a bit becomes 0 or 1, or -1 or +1"},
                           "zero_one", {"zero_one", "plus_minus"}) == "plus_minus";
  s.seed = static_cast<std::uint64_t>(
      table.integer({.name = "seed", .doc = "draws the affine recoding"}, 1, Between(0, 0x1p63)));
  return s;
}

template <class S>
std::unique_ptr<Embedding<S>> Settings::make(const ModelShape& shape) const {
  const int bits = bits_of(shape.vocabulary);
  if (bits > shape.width) {
    fail(Status::deck, "binary codes of " + std::to_string(bits) +
                           " bits do not fit in transformer.width = " +
                           std::to_string(shape.width) + "; raise it");
  }
  return std::make_unique<BinaryCode<S>>(*this, shape);
}

template std::unique_ptr<Embedding<float>> Settings::make<float>(const ModelShape&) const;
template std::unique_ptr<Embedding<double>> Settings::make<double>(const ModelShape&) const;

}  // namespace lexikos::binary_code

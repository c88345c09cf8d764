#include "embedding/factored_mlp/factored_mlp.hpp"

#include "embedding/codebooks.hpp"
#include "embedding/mlp_map.hpp"

namespace lexikos::factored_mlp {
namespace {

template <class S>
class FactoredMlp : public Embedding<S> {
 public:
  FactoredMlp(const Settings& settings, const ModelShape& shape)
      : books_{settings.codebooks, smallest_base(shape.vocabulary, settings.codebooks)},
        seed_width_(settings.seed_width),
        distinct_max_(shape.distinct_max),
        map_(seed_width_, settings.hidden, books_.rows() * seed_width_, shape) {}

  void declare(Parameters<S>& parameters, Memory& memory) override {
    codebooks_ = parameters.add("embedding.factored_mlp.codebooks", {books_.rows(), seed_width_},
                                {.deviation = 0.02}, Decay::to_zero);
    digit_ = memory.rows<std::int32_t>("factored_mlp digits", distinct_max_, books_.count);
    memory.begin_phase();
    digit_sums_.declare(memory, books_, distinct_max_);
    map_.declare(parameters, memory, "embedding.factored_mlp");
  }

  void forward(const ExecSpace& space, View1<const TokenId> tokens, View2<S> e) override {
    const Index u = tokens.extent(0);
    digits(space, books_, tokens, digit_(u));
    sum_rows<S>(space, books_, digit_(u), codebooks_.value2(), map_.code(u));
    map_.forward(space, e);
  }

  void backward(const ExecSpace& space, View1<const TokenId> tokens, View2<const S> de) override {
    digit_sums_.add<S>(space, digit_(tokens.extent(0)), map_.backward(space, de),
                       codebooks_.gradient2());
  }

  Costs costs() const override { return map_.costs(); }

 private:
  Codebooks books_;
  Index seed_width_, distinct_max_;
  MlpMap<S> map_;
  Weight<S> codebooks_;
  Rows<std::int32_t> digit_;
  DigitSums digit_sums_;
};

}  // namespace

Settings Settings::read(const DeckTable& table) {
  Settings s;
  s.codebooks =
      table.integer({.name = "codebooks", .doc = "digits of a token id, k"}, 3, Between(1, 16));
  s.seed_width = table.integer({.name = "seed_width", .doc = "d_seed"}, 128, Between(1, 1 << 16));
  s.hidden = MatchedSize::read(table, "hidden", "hidden units of the MLP");
  return s;
}

template <class S>
std::unique_ptr<Embedding<S>> Settings::make(const ModelShape& shape) const {
  return std::make_unique<FactoredMlp<S>>(*this, shape);
}

template std::unique_ptr<Embedding<float>> Settings::make<float>(const ModelShape&) const;
template std::unique_ptr<Embedding<double>> Settings::make<double>(const ModelShape&) const;

}  // namespace lexikos::factored_mlp

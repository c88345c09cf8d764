#include "embedding/factored_mlp/factored_mlp.hpp"

#include "embedding/codebooks.hpp"
#include "embedding/match.hpp"
#include "embedding/mlp_map.hpp"

namespace lexikos::factored_mlp {
namespace {

template <class S>
class FactoredMlp : public Embedding<S> {
 public:
  FactoredMlp(Codebooks books, Index seed_width, Index hidden, bool matched,
              const ModelShape& shape)
      : books_(books),
        seed_width_(seed_width),
        matched_(matched),
        shape_(shape),
        map_(seed_width, hidden, shape) {}

  void declare(ParameterList& list) override {
    codebooks_ = list.add("embedding.factored_mlp.codebooks", {books_.rows(), seed_width_},
                          {.deviation = 0.02}, Decay::to_zero);
    map_.declare(list, "embedding.factored_mlp");
  }

  void plan(MemoryPlan& plan) override {
    digit_ = plan.keep<std::int32_t>("factored_mlp digits", shape_.distinct_max * books_.count);
    plan.begin_phase();
    map_.plan(plan);
  }

  void bind(const Parameters<S>& parameters, const Arena& arena) override {
    parameters_ = &parameters;
    arena_ = &arena;
    map_.bind(parameters, arena);
  }

  void forward(const ExecSpace& space, View1<const TokenId> tokens, View2<S> e) override {
    const Index u = tokens.extent(0);
    digits(space, books_, tokens, digit_view(u));
    sum_rows<S>(space, books_, digit_view(u), parameters_->value2(codebooks_), map_.code(u));
    map_.forward(space, e);
  }

  void backward(const ExecSpace& space, View1<const TokenId> tokens, View2<const S> de) override {
    add_rows<S>(space, books_, digit_view(tokens.extent(0)), map_.backward(space, de),
                parameters_->gradient2(codebooks_));
  }

  Counts counts() const override {
    Counts counts;
    counts.trainable = books_.rows() * seed_width_ + map_.parameter_count();
    counts.matched_to = matched_ ? shape_.matched_parameters : 0;
    counts.flops_per_distinct = map_.flops_per_distinct();
    return counts;
  }

 private:
  View2<std::int32_t> digit_view(Index u) const {
    return arena_->view2<std::int32_t>(digit_, u, books_.count);
  }

  Codebooks books_;
  Index seed_width_;
  bool matched_;
  ModelShape shape_;
  MlpMap<S> map_;
  ParameterId codebooks_;
  Slot digit_;
  const Parameters<S>* parameters_ = nullptr;
  const Arena* arena_ = nullptr;
};

}  // namespace

template <class S>
EmbeddingFactory<S> read(const DeckTable& table) {
  const Index count =
      table.integer({.name = "codebooks", .doc = "digits of a token id, k"}, 3, Between(1, 16));
  const Index width = table.integer({.name = "seed_width", .doc = "d_seed"}, 128, AtLeast(1));
  const Index given = table.integer({.name = "hidden",
                                     .doc = "hidden units of the MLP",
                                     .default_note = "0: as many parameters as lev has"},
                                    0, NonNegative{});
  return [count, width, given, table](const ModelShape& shape) {
    const Codebooks books{count, smallest_base(shape.vocabulary, count)};
    const MlpMap<S> unit(width, 1, shape);
    const Index fixed = books.rows() * width + unit.fixed_count();
    const Index hidden = given > 0 ? given
                                   : matched_size(table, "hidden", shape.matched_parameters, fixed,
                                                  unit.unit_count());
    return std::make_unique<FactoredMlp<S>>(books, width, hidden, given == 0, shape);
  };
}

template EmbeddingFactory<float> read<float>(const DeckTable&);
template EmbeddingFactory<double> read<double>(const DeckTable&);

}  // namespace lexikos::factored_mlp

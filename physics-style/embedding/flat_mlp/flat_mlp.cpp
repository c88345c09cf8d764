#include "embedding/flat_mlp/flat_mlp.hpp"

#include "embedding/match.hpp"
#include "embedding/mlp_map.hpp"
#include "kernels/token_rows.hpp"

namespace lexikos::flat_mlp {
namespace {

template <class S>
class FlatMlp : public Embedding<S> {
 public:
  FlatMlp(Index code_width, Index hidden, bool matched, const ModelShape& shape)
      : code_width_(code_width),
        matched_(matched),
        shape_(shape),
        map_(code_width, hidden, shape) {}

  void declare(ParameterList& list) override {
    table_ = list.add("embedding.flat_mlp.table", {shape_.vocabulary, code_width_},
                      {.deviation = shape_.init_deviation}, Decay::to_zero);
    map_.declare(list, "embedding.flat_mlp");
  }

  void plan(MemoryPlan& plan) override {
    plan.begin_phase();
    map_.plan(plan);
  }

  void bind(const Parameters<S>& parameters, const Arena& arena) override {
    parameters_ = &parameters;
    map_.bind(parameters, arena);
  }

  void forward(const ExecSpace& space, View1<const TokenId> tokens, View2<S> e) override {
    token_rows::take<S>(space, parameters_->value2(table_), tokens, map_.code(tokens.extent(0)));
    map_.forward(space, e);
  }

  void backward(const ExecSpace& space, View1<const TokenId> tokens, View2<const S> de) override {
    token_rows::add<S>(space, map_.backward(space, de), tokens, parameters_->gradient2(table_));
  }

  Counts counts() const override {
    Counts counts;
    counts.trainable = shape_.vocabulary * code_width_ + map_.parameter_count();
    counts.matched_to = matched_ ? shape_.matched_parameters : 0;
    counts.flops_per_distinct = map_.flops_per_distinct();
    return counts;
  }

 private:
  Index code_width_;
  bool matched_;
  ModelShape shape_;
  MlpMap<S> map_;
  ParameterId table_;
  const Parameters<S>* parameters_ = nullptr;
};

}  // namespace

template <class S>
EmbeddingFactory<S> read(const DeckTable& table) {
  const Index width =
      table.integer({.name = "code_width", .doc = "numbers of a token's code, E"}, 4, AtLeast(1));
  const Index given = table.integer({.name = "hidden",
                                     .doc = "hidden units of the MLP",
                                     .default_note = "0: as many parameters as lev has"},
                                    0, NonNegative{});
  return [width, given, table](const ModelShape& shape) {
    const MlpMap<S> unit(width, 1, shape);
    const Index fixed = shape.vocabulary * width + unit.fixed_count();
    const Index hidden = given > 0 ? given
                                   : matched_size(table, "hidden", shape.matched_parameters, fixed,
                                                  unit.unit_count());
    return std::make_unique<FlatMlp<S>>(width, hidden, given == 0, shape);
  };
}

template EmbeddingFactory<float> read<float>(const DeckTable&);
template EmbeddingFactory<double> read<double>(const DeckTable&);

}  // namespace lexikos::flat_mlp

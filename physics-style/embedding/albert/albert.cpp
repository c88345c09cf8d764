#include "embedding/albert/albert.hpp"

#include <cmath>

#include "embedding/match.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/token_rows.hpp"

namespace lexikos::albert {
namespace {

template <class S>
class Albert : public Embedding<S> {
 public:
  Albert(Index rank, bool matched, const ModelShape& shape)
      : rank_(rank), matched_(matched), shape_(shape) {}

  void declare(ParameterList& list) override {
    const Init init{.deviation = shape_.init_deviation};
    table_ = list.add("embedding.albert.table", {shape_.vocabulary, rank_}, init, Decay::to_zero);
    // The product of both has the deviation that a plain table has.
    const Init map{.deviation = 1.0 / std::sqrt(static_cast<double>(rank_))};
    map_ = list.add("embedding.albert.map", {rank_, shape_.width}, map, Decay::to_zero);
  }

  void plan(MemoryPlan& plan) override {
    rows_ = plan.keep<S>("albert rows", shape_.distinct_max * rank_);
    plan.begin_phase();
    drows_ = plan.scratch<S>("albert gradient of rows", shape_.distinct_max * rank_);
  }

  void bind(const Parameters<S>& parameters, const Arena& arena) override {
    parameters_ = &parameters;
    arena_ = &arena;
  }

  void forward(const ExecSpace& space, View1<const TokenId> tokens, View2<S> e) override {
    const View2<S> rows = arena_->view2<S>(rows_, tokens.extent(0), rank_);
    token_rows::take<S>(space, parameters_->value2(table_), tokens, rows);
    gemm<S>(space, Op::none, Op::none, S(1), rows, parameters_->value2(map_), S(0), e);
  }

  void backward(const ExecSpace& space, View1<const TokenId> tokens, View2<const S> de) override {
    const View2<S> rows = arena_->view2<S>(rows_, tokens.extent(0), rank_);
    const View2<S> drows = arena_->view2<S>(drows_, tokens.extent(0), rank_);
    gemm<S>(space, Op::transpose, Op::none, S(1), rows, de, S(1), parameters_->gradient2(map_));
    gemm<S>(space, Op::none, Op::transpose, S(1), de, parameters_->value2(map_), S(0), drows);
    token_rows::add<S>(space, drows, tokens, parameters_->gradient2(table_));
  }

  Counts counts() const override {
    Counts counts;
    counts.trainable = rank_ * (shape_.vocabulary + shape_.width);
    counts.matched_to = matched_ ? shape_.matched_parameters : 0;
    counts.flops_per_distinct = 6.0 * rank_ * shape_.width;
    return counts;
  }

 private:
  Index rank_;  // E
  bool matched_;
  ModelShape shape_;
  ParameterId table_, map_;
  Slot rows_, drows_;
  const Parameters<S>* parameters_ = nullptr;
  const Arena* arena_ = nullptr;
};

}  // namespace

template <class S>
EmbeddingFactory<S> read(const DeckTable& table) {
  const Index given = table.integer({.name = "rank",
                                     .doc = "columns of the narrow table, E",
                                     .default_note = "0: as many parameters as lev has"},
                                    0, NonNegative{});
  return [given, table](const ModelShape& shape) {
    // E (V + D) parameters.
    const Index rank = given > 0 ? given
                                 : matched_size(table, "rank", shape.matched_parameters, 0,
                                                shape.vocabulary + shape.width);
    return std::make_unique<Albert<S>>(rank, given == 0, shape);
  };
}

template EmbeddingFactory<float> read<float>(const DeckTable&);
template EmbeddingFactory<double> read<double>(const DeckTable&);

}  // namespace lexikos::albert

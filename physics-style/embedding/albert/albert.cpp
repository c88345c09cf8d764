#include "embedding/albert/albert.hpp"

#include <cmath>

#include "kernels/gemm/gemm.hpp"
#include "kernels/token_rows.hpp"

namespace lexikos::albert {
namespace {

template <class S>
class Albert : public Embedding<S> {
 public:
  Albert(const Settings& settings, const ModelShape& shape)
      : matched_to_(settings.rank.target(shape)),
        rank_(settings.rank.size(shape, 0, shape.vocabulary + shape.width)),
        shape_(shape) {}

  void declare(Parameters<S>& parameters, Memory& memory) override {
    const Init init{.deviation = shape_.init_deviation};
    table_ =
        parameters.add("embedding.albert.table", {shape_.vocabulary, rank_}, init, Decay::to_zero);
    // The product of both has the deviation that a plain table has.
    const Init map{.deviation = 1.0 / std::sqrt(static_cast<double>(rank_))};
    map_ = parameters.add("embedding.albert.map", {rank_, shape_.width}, map, Decay::to_zero);

    rows_ = memory.rows<S>("albert rows", shape_.distinct_max, rank_);
    memory.begin_phase();
    drows_ = memory.scratch<S>("albert gradient of rows", shape_.distinct_max, rank_);
  }

  void forward(const ExecSpace& space, View1<const TokenId> tokens, View2<S> e) override {
    const View2<S> rows = rows_(tokens.extent(0));
    token_rows::take<S>(space, table_.value2(), tokens, rows);
    gemm<S>(space, Op::none, Op::none, S(1), rows, map_.value2(), S(0), e);
  }

  void backward(const ExecSpace& space, View1<const TokenId> tokens, View2<const S> de) override {
    const View2<S> rows = rows_(tokens.extent(0)), drows = drows_(tokens.extent(0));
    gemm<S>(space, Op::transpose, Op::none, S(1), rows, de, S(1), map_.gradient2());
    gemm<S>(space, Op::none, Op::transpose, S(1), de, map_.value2(), S(0), drows);
    token_rows::add<S>(space, drows, tokens, table_.gradient2());
  }

  Costs costs() const override {
    return {.matched_to = matched_to_, .flops_per_distinct = 6.0 * rank_ * shape_.width};
  }

 private:
  Index matched_to_, rank_;  // rank: E
  ModelShape shape_;
  Weight<S> table_, map_;
  Rows<S> rows_, drows_;
};

}  // namespace

Settings Settings::read(const DeckTable& table) {
  return {.rank = MatchedSize::read(table, "rank", "columns of the narrow table, E")};
}

template <class S>
std::unique_ptr<Embedding<S>> Settings::make(const ModelShape& shape) const {
  return std::make_unique<Albert<S>>(*this, shape);
}

template std::unique_ptr<Embedding<float>> Settings::make<float>(const ModelShape&) const;
template std::unique_ptr<Embedding<double>> Settings::make<double>(const ModelShape&) const;

}  // namespace lexikos::albert

#include "embedding/flat_mlp/flat_mlp.hpp"

#include "embedding/mlp_map.hpp"
#include "kernels/token_rows.hpp"

namespace lexikos::flat_mlp {
namespace {

template <class S>
class FlatMlp : public Embedding<S> {
 public:
  FlatMlp(const Settings& settings, const ModelShape& shape)
      : code_width_(settings.code_width),
        shape_(shape),
        map_(code_width_, settings.hidden, shape.vocabulary * code_width_, shape) {}

  void declare(Parameters<S>& parameters, Memory& memory) override {
    table_ = parameters.add("embedding.flat_mlp.table", {shape_.vocabulary, code_width_},
                            {.deviation = shape_.init_deviation}, Decay::to_zero);
    memory.begin_phase();
    map_.declare(parameters, memory, "embedding.flat_mlp");
  }

  void forward(const ExecSpace& space, View1<const TokenId> tokens, View2<S> e) override {
    token_rows::take<S>(space, table_.value2(), tokens, map_.code(tokens.extent(0)));
    map_.forward(space, e);
  }

  void backward(const ExecSpace& space, View1<const TokenId> tokens, View2<const S> de) override {
    token_rows::add<S>(space, map_.backward(space, de), tokens, table_.gradient2());
  }

  Costs costs() const override { return map_.costs(); }

 private:
  Index code_width_;
  ModelShape shape_;
  MlpMap<S> map_;
  Weight<S> table_;
};

}  // namespace

Settings Settings::read(const DeckTable& table) {
  Settings s;
  s.code_width = table.integer({.name = "code_width", .doc = "numbers of a token's code, E"}, 4,
                               Between(1, 1 << 16));
  s.hidden = MatchedSize::read(table, "hidden", "hidden units of the MLP");
  return s;
}

template <class S>
std::unique_ptr<Embedding<S>> Settings::make(const ModelShape& shape) const {
  return std::make_unique<FlatMlp<S>>(*this, shape);
}

template std::unique_ptr<Embedding<float>> Settings::make<float>(const ModelShape&) const;
template std::unique_ptr<Embedding<double>> Settings::make<double>(const ModelShape&) const;

}  // namespace lexikos::flat_mlp

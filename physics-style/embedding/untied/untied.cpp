#include "embedding/untied/untied.hpp"

#include "embedding/table_rows.hpp"

namespace lexikos::untied {
namespace {

template <class S>
class Untied : public TableRows<S> {
 public:
  explicit Untied(const ModelShape& shape) : shape_(shape) {}

  void declare(ParameterList& list) override {
    this->table_ = list.add("embedding.untied.table", {shape_.vocabulary, shape_.width},
                            {.deviation = shape_.init_deviation}, Decay::to_zero);
  }

  Counts counts() const override { return {.trainable = shape_.vocabulary * shape_.width}; }

 private:
  ModelShape shape_;
};

}  // namespace

template <class S>
EmbeddingFactory<S> read(const DeckTable&) {
  return [](const ModelShape& shape) { return std::make_unique<Untied<S>>(shape); };
}

template EmbeddingFactory<float> read<float>(const DeckTable&);
template EmbeddingFactory<double> read<double>(const DeckTable&);

}  // namespace lexikos::untied

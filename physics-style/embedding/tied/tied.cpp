#include "embedding/tied/tied.hpp"

#include "embedding/table_rows.hpp"

namespace lexikos::tied {
namespace {

template <class S>
class Tied : public TableRows<S> {
 public:
  explicit Tied(const ModelShape& shape) : shape_(shape) {}

  void declare(ParameterList& list) override { this->table_ = list.find("head.weight"); }

  Counts counts() const override { return {.shared = shape_.vocabulary * shape_.width}; }

 private:
  ModelShape shape_;
};

}  // namespace

template <class S>
EmbeddingFactory<S> read(const DeckTable&) {
  return [](const ModelShape& shape) { return std::make_unique<Tied<S>>(shape); };
}

template EmbeddingFactory<float> read<float>(const DeckTable&);
template EmbeddingFactory<double> read<double>(const DeckTable&);

}  // namespace lexikos::tied

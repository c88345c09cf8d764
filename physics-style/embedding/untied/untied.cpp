#include "embedding/untied/untied.hpp"

#include "embedding/table_rows.hpp"

namespace lexikos::untied {
namespace {

template <class S>
class Untied : public TableRows<S> {
 public:
  explicit Untied(const ModelShape& shape) : shape_(shape) {}

  void declare(Parameters<S>& parameters, Memory&) override {
    this->table_ = parameters.add(Settings::table, {shape_.vocabulary, shape_.width},
                                  {.deviation = shape_.init_deviation}, Decay::to_zero);
  }

  Costs costs() const override { return {}; }

 private:
  ModelShape shape_;
};

}  // namespace

template <class S>
std::unique_ptr<Embedding<S>> Settings::make(const ModelShape& shape) const {
  return std::make_unique<Untied<S>>(shape);
}

template std::unique_ptr<Embedding<float>> Settings::make<float>(const ModelShape&) const;
template std::unique_ptr<Embedding<double>> Settings::make<double>(const ModelShape&) const;

}  // namespace lexikos::untied

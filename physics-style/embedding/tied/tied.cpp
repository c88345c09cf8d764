#include "embedding/tied/tied.hpp"

#include "embedding/table_rows.hpp"

namespace lexikos::tied {
namespace {

template <class S>
class Tied : public TableRows<S> {
 public:
  void declare(Parameters<S>& parameters, Memory&) override {
    this->table_ = parameters.find(Settings::table);
  }

  Costs costs() const override { return {.shared = this->table_.info().size}; }
};

}  // namespace

template <class S>
std::unique_ptr<Embedding<S>> Settings::make(const ModelShape&) const {
  return std::make_unique<Tied<S>>();
}

template std::unique_ptr<Embedding<float>> Settings::make<float>(const ModelShape&) const;
template std::unique_ptr<Embedding<double>> Settings::make<double>(const ModelShape&) const;

}  // namespace lexikos::tied

// What `tied` and `untied` share: row i of a V x C table is the input vector of token i.
#pragma once

#include "embedding/embedding.hpp"
#include "kernels/token_rows.hpp"

namespace lexikos {

template <class S>
class TableRows : public Embedding<S> {
 public:
  void plan(MemoryPlan&) override {}

  void bind(const Parameters<S>& parameters, const Arena&) override {
    value_ = parameters.value2(table_);
    gradient_ = parameters.gradient2(table_);
  }

  void forward(const ExecSpace& space, View1<const TokenId> tokens, View2<S> e) override {
    token_rows::take<S>(space, value_, tokens, e);
  }

  void backward(const ExecSpace& space, View1<const TokenId> tokens, View2<const S> de) override {
    token_rows::add<S>(space, de, tokens, gradient_);
  }

 protected:
  ParameterId table_;

 private:
  View2<S> value_, gradient_;
};

}  // namespace lexikos

// What `tied` and `untied` share: row i of a V x C table is the input vector of token i.
#pragma once

#include "embedding/embedding.hpp"
#include "kernels/token_rows.hpp"

namespace lexikos {

template <class S>
class TableRows : public Embedding<S> {
 public:
  void forward(const ExecSpace& space, View1<const TokenId> tokens, View2<S> e) override {
    token_rows::take<S>(space, table_.value2(), tokens, e);
  }

  void backward(const ExecSpace& space, View1<const TokenId> tokens, View2<const S> de) override {
    token_rows::add<S>(space, de, tokens, table_.gradient2());
  }

 protected:
  Weight<S> table_;
};

}  // namespace lexikos

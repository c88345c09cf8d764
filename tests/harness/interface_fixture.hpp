// One input interface without a model around it: tokens at positions in, vectors at positions out,
// and the way back.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "harness/support.hpp"
#include "kernels/token_rows.hpp"
#include "registry.hpp"

namespace lexikos::test {

template <class S>
class InterfaceRig {
 public:
  /// `lines` stand in deck table [embedding.<interface>].
  InterfaceRig(const std::string& interface, const std::string& lines, Index vocabulary,
               Index width, Index distinct_max, std::uint64_t seed = 1)
      : deck_(Deck::from_string("[embedding]\ninterface = \"" + interface + "\"\n[embedding." +
                                    interface + "]\n" + lines,
                                "test.toml")) {
    const EmbeddingSettings settings = read_embedding(deck_);
    deck_.check_all_read();
    shape_.vocabulary = vocabulary;
    shape_.width = width;
    shape_.distinct_max = distinct_max;
    embedding_ = make_embedding<S>(settings, shape_);
    // Only tied reads the head's matrix; elsewhere one row stands for it.
    parameters_.add("head.weight", {interface == "tied" ? vocabulary : 1, width},
                    {.deviation = 0.02}, Decay::to_zero);
    embedding_->declare(parameters_, memory_);
    parameters_.allocate();
    parameters_.initialise(seed);
    memory_.allocate();
  }
  InterfaceRig(const InterfaceRig&) = delete;

  /// The vectors of tokens in any order, repeats included: [U C].
  Doubles vectors(const std::vector<TokenId>& tokens) {
    const Index u = static_cast<Index>(tokens.size());
    const Device<TokenId> tokens_d(tokens);
    const Device<S> e(Doubles(u * shape_.width, not_a_number));
    const ExecSpace space;
    embedding_->forward(space, tokens_d.view(), e.view(u, shape_.width));
    space.fence();
    return e.values();
  }

  /// The vectors at positions, by way of the distinct tokens: [N C].
  Doubles at_positions(const std::vector<TokenId>& ids) {
    const Buckets b(ids);
    const Index u = static_cast<Index>(b.distinct.size()), n = static_cast<Index>(ids.size()),
                c = shape_.width;
    const Device<TokenId> distinct(b.distinct);
    const Device<std::int32_t> slot(b.slot);
    const Device<S> e(Doubles(u * c, not_a_number)), x(Doubles(n * c, not_a_number));
    const ExecSpace space;
    embedding_->forward(space, distinct.view(), e.view(u, c));
    token_rows::spread<S>(space, e.view(u, c), slot.view(), x.view(n, c));
    space.fence();
    return x.values();
  }

  /// Forward, then the gradient of sum(dx * at_positions(ids)) added to the gradient arena.
  void backward(const std::vector<TokenId>& ids, const Doubles& dx) {
    const Buckets b(ids);
    const Index u = static_cast<Index>(b.distinct.size()), n = static_cast<Index>(ids.size()),
                c = shape_.width;
    const Device<TokenId> distinct(b.distinct);
    const Device<std::int32_t> touched(b.touched), begin(b.begin), position(b.position);
    const Device<S> e(u * c), de(u * c), dx_d(dx);
    const ExecSpace space;
    embedding_->forward(space, distinct.view(), e.view(u, c));
    token_rows::gather<S>(space, dx_d.view(n, c), touched.view(), begin.view(), position.view(),
                          de.view(u, c));
    embedding_->backward(space, distinct.view(), de.view(u, c));
    space.fence();
  }

  Doubles value(const std::string& name) const {
    return doubles(to_host(parameters_.find(name).value1()));
  }
  void set_value(const std::string& name, const Doubles& values) {
    set(parameters_.find(name).value1(), values);
  }
  Doubles gradient(const std::string& name) const {
    return doubles(to_host(parameters_.find(name).gradient1()));
  }
  void zero_gradients() { Kokkos::deep_copy(parameters_.gradients(), S(0)); }

  const Parameters<S>& parameters() const { return parameters_; }
  /// Of the interface.
  Index trainable() const { return parameters_.count("embedding."); }
  Costs costs() const { return embedding_->costs(); }
  Index width() const { return shape_.width; }

 private:
  struct Buckets {
    std::vector<TokenId> distinct;
    std::vector<std::int32_t> slot, touched, begin, position;

    explicit Buckets(const std::vector<TokenId>& ids) : distinct(ids), begin{0} {
      std::sort(distinct.begin(), distinct.end());
      distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
      for (const TokenId id : ids) {
        slot.push_back(static_cast<std::int32_t>(
            std::lower_bound(distinct.begin(), distinct.end(), id) - distinct.begin()));
      }
      for (std::size_t u = 0; u < distinct.size(); ++u) {
        touched.push_back(static_cast<std::int32_t>(u));
        for (std::size_t n = 0; n < ids.size(); ++n) {
          if (ids[n] == distinct[u]) position.push_back(static_cast<std::int32_t>(n));
        }
        begin.push_back(static_cast<std::int32_t>(position.size()));
      }
    }
  };

  Deck deck_;
  ModelShape shape_;
  std::unique_ptr<Embedding<S>> embedding_;
  Parameters<S> parameters_;
  Memory memory_;
};

}  // namespace lexikos::test

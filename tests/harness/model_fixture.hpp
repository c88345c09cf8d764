// Small models on chosen tokens, for the tests that need a whole one.
#pragma once

#include <memory>
#include <string>

#include "data/batches/step_batch.hpp"
#include "harness/listed_tokens.hpp"
#include "harness/support.hpp"
#include "model.hpp"

namespace lexikos::test {

/// Terms that are summed one after another on the longest way from an interface's vectors to the
/// logits: in each block C, E, T, C, C and F, and C in the head. For rounding_of_sums, with the
/// largest logit: what a block's sums are of is about as large as that where weights are.
inline Index terms_to_logits(Index layers, Index width, Index head, Index context, Index mlp) {
  return layers * (3 * width + head + context + mlp) + width;
}

/// A model and what it reads: window s of the tokens is sequence s, in order.
template <class S>
class Setup {
 public:
  /// One step has `sequences` windows, `micro` at a time; the context is the deck's.
  Setup(const std::string& deck_text, Index vocabulary, const std::vector<TokenId>& ids,
        Index sequences, Index micro, std::uint64_t seed = 1)
      : deck_(Deck::from_string(deck_text, "test.toml")),
        settings_(ModelSettings::read(deck_)),
        model(settings_, {vocabulary, micro, sequences}),
        source_(vocabulary, ids),
        loader_(
            source_,
            {.T = settings_.transformer.context, .sequences = sequences, .micro_sequences = micro},
            select_windows(source_, settings_.transformer.context, 0)) {
    deck_.check_all_read();
    model.allocate(seed);
    batch_ = &loader_.load(0);
  }

  void load(Index step) { batch_ = &loader_.load(step); }
  const StepBatch& batch() const { return *batch_; }

  /// Mean nll; the gradient arena then holds its gradient.
  double forward_backward() {
    Kokkos::deep_copy(model.parameters().gradients(), S(0));
    const ExecSpace space;
    model.forward_backward(space, *batch_, nullptr, sum_.sum());
    space.fence();
    return sum_.value() / static_cast<double>(batch_->targets_global);
  }

  /// The same without gradients.
  double evaluate() {
    const ExecSpace space;
    model.evaluate(space, *batch_, sum_.sum());
    space.fence();
    return sum_.value() / static_cast<double>(batch_->targets_global);
  }

  View1<S> window(const Buffer<S>& arena, const std::string& name) const {
    const ParameterInfo& info = model.parameters().find(name).info();
    return View1<S>(arena.data() + info.offset, info.size);
  }
  Doubles value(const std::string& name) const {
    return doubles(to_host(window(model.parameters().values(), name)));
  }
  Doubles gradient(const std::string& name) const {
    return doubles(to_host(window(model.parameters().gradients(), name)));
  }
  void set_value(const std::string& name, const Doubles& values) {
    set(window(model.parameters().values(), name), values);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const ParameterInfo& info : model.parameters().infos()) all.push_back(info.name);
    return all;
  }

 private:
  Deck deck_;
  ModelSettings settings_;

 public:
  Model<S> model;

 private:
  ListedTokens source_;
  BatchLoader loader_;
  SumOnDevice sum_;
  const StepBatch* batch_ = nullptr;
};

/// Values of order 1 everywhere, so that no gradient is small by accident.
template <class S>
void randomise(Setup<S>& setup, std::uint64_t seed) {
  Random random(seed);
  for (const ParameterInfo& info : setup.model.parameters().infos()) {
    const bool about_one = info.init.mean == 1.0;
    const Index fan_in = info.shape.back();
    const double deviation = about_one ? 0.2 : 1 / std::sqrt(static_cast<double>(fan_in));
    setup.set_value(info.name,
                    rounded<float>(random.normals(info.size, deviation, info.init.mean)));
  }
}

/// A deck for a small model. `transformer` and `embedding` are lines of those tables.
inline std::string deck_text(const std::string& interface, const std::string& transformer,
                             const std::string& embedding = "", Index head_chunk = 7) {
  std::string text = "[embedding]\ninterface = \"" + interface + "\"\n";
  if (!embedding.empty()) text += "[embedding." + interface + "]\n" + embedding + "\n";
  text += "[transformer]\n" + transformer + "\n";
  text += "[head]\nchunk = " + std::to_string(head_chunk) + "\n";
  return text;
}

/// A LEV of a few hundred parameters; 3 digits.
inline const std::string small_lev =
    "codebooks = 3\nseed_width = 6\nheads = 2\nknots = 5\nrank = 3\n";

}  // namespace lexikos::test

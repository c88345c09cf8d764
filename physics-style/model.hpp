// A model put together from its packages: embedding -> transformer -> head.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/batches/step_batch.hpp"
#include "head/head.hpp"
#include "parallel/gradient_reducer.hpp"
#include "registry.hpp"
#include "state/parameters.hpp"
#include "transformer/transformer.hpp"

namespace lexikos {

/// What the packages read from the deck, before the sizes of a run are known.
struct ModelSettings {
  transformer::Settings transformer;
  transformer::Execution execution;
  head::Settings head;
  EmbeddingSettings embedding;
  std::string interface;  // the deck name of the embedding
  static ModelSettings read(const Deck& deck);
};

/// Sizes of a run that a model's memory depends on.
struct ModelSizes {
  Index vocabulary = 0;
  Index micro_batch = 0;     // sequences
  Index rank_sequences = 0;  // of one step on one rank, at most
};

/// The only targets that are scored, and what becomes known of them. All [K], on the device.
struct ScoredTargets {
  View1<const std::int32_t> position;  // of the pass: what the target is predicted at
  View1<const TokenId> target;
  View1<double> nll;
  View1<std::uint8_t> largest;  // 1: no id is likelier
};

/// What each package costs.
struct ModelCosts {
  Costs embedding, transformer, head;
};

template <class S>
class Model {
 public:
  /// Lists parameters and lays memory out; allocates nothing on the device.
  Model(const ModelSettings& settings, const ModelSizes& sizes);

  /// Allocates parameters and activations and sets initial values. AdamW's moments are those of the
  /// slice of rank `rank` of `ranks`.
  void allocate(std::uint64_t seed, int rank = 0, int ranks = 1);

  /// Allocates what everything but forward_backward needs; the values are zero until they are read.
  void allocate_for_evaluation();

  /// Gradients of sum(nll) / batch.targets_global, added to the gradient arena, and the sum of nll
  /// (nats) of this rank's targets into *nll_sum. Starts the sum over ranks of each finished slice
  /// (reducer may be null: then nothing is reduced); the caller finishes it. The input interface's
  /// part, forward and backward, is the region Lexikos::model::interface.
  void forward_backward(const ExecSpace& space, const StepBatch& batch, GradientReducer<S>* reducer,
                        const DeviceSum& nll_sum);

  /// The sum of nll (nats) of the batch's targets into *nll_sum.
  void evaluate(const ExecSpace& space, const StepBatch& batch, const DeviceSum& nll_sum);

  /// nll (nats) of each target, in the order of the batch's positions: those of the last
  /// forward_backward or evaluate.
  View1<double> nll(Index positions) const { return nll_.column(0, positions); }

  /// Scores chosen targets of one pass, whose slots are rows of `distinct` [U]: overwrites their
  /// nll (nats) and whether each is the likeliest id. The head sees no other position.
  void score(const ExecSpace& space, View1<const TokenId> distinct, const ModelInput& input,
             const ScoredTargets& scored);

  /// The first step of continuing texts: ids [P], P <= T, are the beginning of each of `sequences`
  /// texts, at most micro_batch of them. Overwrites the cache of keys and values. Its positions are
  /// those of one text.
  void prefill(const ExecSpace& space, View1<const TokenId> ids, Index sequences);
  /// One id more in each text, ids [B], at place `position`. Its positions are one of each text.
  void decode(const ExecSpace& space, View1<const TokenId> ids, Index position);

  /// Logits of what follows the positions from `begin` on: those of the last prefill or decode, or
  /// of the last micro-batch that was evaluated. Overwrites out [K V], one row a position.
  void logits(const ExecSpace& space, Index begin, View2<S> out) const;

  /// Rows of the input matrix from `begin` on. Overwrites out [K C].
  void materialise(const ExecSpace& space, Index begin, View2<S> out);

  /// The head's matrix [V C].
  View2<S> output_matrix() const { return head_->weight().value2(); }

  const ModelShape& shape() const { return shape_; }
  const Memory& memory() const { return memory_; }
  Parameters<S>& parameters() { return parameters_; }
  const Parameters<S>& parameters() const { return parameters_; }

  ModelCosts costs() const { return {embedding_->costs(), transformer_->costs(), head_->costs()}; }

  /// What the input interface adds to each step's row of the history.
  std::vector<MeasuredColumn> columns() const { return embedding_->columns(); }

 private:
  void allocate_memory();
  void embed(const ExecSpace& space, View1<const TokenId> ids, View2<S> out);
  void refresh(const ExecSpace& space);
  void begin(const ExecSpace& space, View1<const TokenId> distinct);
  void run(const ExecSpace& space, const Spans& spans, Index sequences);
  void run(const ExecSpace& space, View1<const TokenId> distinct, const ModelInput& input);
  void backward(const ExecSpace& space, const ModelInput& input, GradientReducer<S>* reducer);

  ModelShape shape_;
  Index layers_;
  std::unique_ptr<head::Head<S>> head_;
  std::unique_ptr<Embedding<S>> embedding_;
  std::unique_ptr<transformer::Transformer<S>> transformer_;
  Parameters<S> parameters_;
  Memory memory_;
  ArenaRange embedding_range_;
  Rows<S> e_, de_;    // of the distinct tokens of a step
  Rows<double> nll_;  // of the targets of a step
  Rows<TokenId> ids_;
  View2<S> output_;  // what the head reads of the last run [positions C]
};

}  // namespace lexikos

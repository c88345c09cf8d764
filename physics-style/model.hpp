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

/// Targets that are scored alone, and what becomes known of them. All [K], on the device.
struct ScoredTargets {
  View1<const std::int32_t> position;  // of the micro-batch: what the target is predicted at
  View1<const TokenId> target;
  View1<double> nll;
  View1<std::uint8_t> largest;  // 1: no id is likelier
};

template <class S>
class Model {
 public:
  /// Lists parameters and lays memory out; allocates nothing on the device.
  Model(const ModelSettings& settings, const ModelSizes& sizes);

  /// Allocates parameters and activations and sets initial values. AdamW's moments are those of the
  /// slice of rank `rank` of `ranks`.
  void allocate(std::uint64_t seed, int rank = 0, int ranks = 1);

  /// Allocates what evaluate and materialise need; the values are zero until they are read.
  void allocate_for_evaluation();

  /// Gradients of sum(nll) / batch.targets_global, added to the gradient arena, and the sum of nll
  /// (nats) of this rank's targets into *nll_sum. Starts the sum over ranks of each finished slice
  /// (reducer may be null: then nothing is reduced); the caller finishes it. The input interface's
  /// part, forward and backward, is the region Lexikos::model::interface.
  void forward_backward(const ExecSpace& space, const StepBatch& batch, GradientReducer<S>* reducer,
                        const DeviceSum& nll_sum);

  /// The sum of nll (nats) of the batch's targets into *nll_sum.
  void evaluate(const ExecSpace& space, const StepBatch& batch, const DeviceSum& nll_sum);

  /// The first step of continuing texts: ids [P], P <= T, are the beginning of each of `sequences`
  /// texts, at most micro_batch and distinct_max() of them. Overwrites the cache of keys and
  /// values.
  void prefill(const ExecSpace& space, View1<const TokenId> ids, Index sequences);
  /// Logits of P' positions of the prompt from `begin` on, after prefill. Overwrites out [P' V].
  void prompt_logits(const ExecSpace& space, Index begin, View2<S> out) const;
  /// One id more in each text, at place `position`. Reads ids [B]; overwrites out [B V], the logits
  /// of what follows.
  void decode(const ExecSpace& space, View1<const TokenId> ids, Index position, View2<S> out);

  /// Scores chosen targets of one micro-batch of `batch`: overwrites their nll (nats) and whether
  /// each is the likeliest id. The head sees no other position.
  void score(const ExecSpace& space, const StepBatch& batch, const MicroBatch& micro,
             const ScoredTargets& scored);

  /// Logits of the last micro-batch that evaluate has seen, of `sequences` sequences.
  /// Overwrites out [sequences T, V].
  void logits(const ExecSpace& space, Index sequences, View2<S> out) const;

  /// nll (nats) of each target, in the order of the batch's positions: valid after the two above.
  View1<double> nll(Index positions) const { return nll_.column(positions); }

  /// Rows [begin, begin + rows) of the input matrix, rows <= distinct_max().
  /// Overwrites out [rows C].
  void materialise(const ExecSpace& space, Index begin, Index rows, View2<S> out);

  /// The head's matrix [V C].
  View2<S> output_matrix() const { return head_->weight().value2(); }

  Index distinct_max() const { return shape_.distinct_max; }
  const ModelShape& shape() const { return shape_; }
  const ParameterList& list() const { return parameters_.list(); }
  const Memory& memory() const { return memory_; }
  Parameters<S>& parameters() { return parameters_; }
  const Parameters<S>& parameters() const { return parameters_; }

  Costs embedding_costs() const { return embedding_->costs(); }
  Costs transformer_costs() const { return transformer_->costs(); }
  Costs head_costs() const { return head_->costs(); }

  /// What the input interface adds to each step's row of the history.
  std::vector<MeasuredColumn> columns() const { return embedding_->columns(); }

 private:
  void bind();
  void refresh(const ExecSpace& space) const;
  void embed(const ExecSpace& space, const StepBatch& batch);
  void reduce(const ExecSpace& space, GradientReducer<S>* reducer, ArenaRange range) const;

  transformer::Settings settings_;
  ModelShape shape_;
  Index rank_positions_;
  std::unique_ptr<head::Head<S>> head_;
  std::unique_ptr<Embedding<S>> embedding_;
  std::unique_ptr<transformer::Transformer<S>> transformer_;
  Parameters<S> parameters_;
  Memory memory_;
  ArenaRange embedding_range_;
  Rows<S> e_, de_;
  Rows<double> nll_;
  Rows<TokenId> ids_;
};

}  // namespace lexikos

#include "model.hpp"

#include <algorithm>

#include "kernels/rows_of.hpp"
#include "kernels/token_rows.hpp"

namespace lexikos {
namespace {

constexpr const char* interface_region = "Lexikos::model::interface";

ModelShape shape_of(const transformer::Settings& t, const ModelSizes& sizes) {
  ModelShape shape;
  shape.vocabulary = sizes.vocabulary;
  shape.width = t.width;
  shape.context = t.context;
  shape.micro_batch = sizes.micro_batch;
  shape.distinct_max = std::min(sizes.vocabulary, sizes.rank_sequences * t.context);
  shape.init_deviation = t.init_deviation;
  return shape;
}

void sum_losses(const ExecSpace& space, View1<const double> nll, const DeviceSum& nll_sum) {
  sum_into(
      "Lexikos::model::loss", space, static_cast<Index>(nll.extent(0)),
      KOKKOS_LAMBDA(const Index n) { return nll(n); }, nll_sum);
}

template <class S>
void reduce(const ExecSpace& space, GradientReducer<S>* reducer, ArenaRange range) {
  if (reducer != nullptr) reducer->start(space, range.begin, range.end);
}

}  // namespace

ModelSettings ModelSettings::read(const Deck& deck) {
  ModelSettings settings;
  settings.embedding = read_embedding(deck);
  settings.interface = embedding_name(settings.embedding);
  settings.transformer = transformer::read(deck.table("transformer"));
  settings.execution = transformer::read_execution(deck);
  settings.head = head::read(deck.table("head"));
  return settings;
}

template <class S>
Model<S>::Model(const ModelSettings& settings, const ModelSizes& sizes)
    : shape_(shape_of(settings.transformer, sizes)),
      layers_(settings.transformer.layers),
      head_(head::make<S>(settings.head, shape_, settings.execution.compute)),
      embedding_(make_embedding<S>(settings.embedding, shape_)),
      transformer_(transformer::make<S>(settings.transformer, shape_, settings.execution)) {
  head_->declare(parameters_, memory_);  // first: an interface may share its matrix
  embedding_range_.begin = parameters_.arena_size();
  embedding_->declare(parameters_, memory_);
  embedding_range_.end = parameters_.arena_size();
  transformer_->declare(parameters_, memory_);

  const Index u = shape_.distinct_max, c = shape_.width;
  e_ = memory_.rows<S>("input vectors of distinct tokens", u, c);
  de_ = memory_.rows<S>("their gradients", u, c);
  nll_ = memory_.rows<double>("loss of each target", sizes.rank_sequences * shape_.context);
  ids_ = memory_.rows<TokenId>("ids to materialise", u);
}

template <class S>
void Model<S>::allocate(std::uint64_t seed, int rank, int ranks) {
  parameters_.allocate(slice_of(parameters_.arena_size(), rank, ranks));
  parameters_.initialise(seed);
  allocate_memory();
}

template <class S>
void Model<S>::allocate_for_evaluation() {
  parameters_.allocate_values();
  allocate_memory();
}

template <class S>
void Model<S>::allocate_memory() {
  memory_.allocate();
  transformer_->prepare(ExecSpace());
}

/// The vectors of ids [K] into out [K C], as many at a time as the interface has room for.
template <class S>
void Model<S>::embed(const ExecSpace& space, View1<const TokenId> ids, View2<S> out) {
  const Region region(interface_region);
  const Index count = ids.extent(0);
  for (Index done = 0; done < count; done += shape_.distinct_max) {
    const Index rows = std::min(shape_.distinct_max, count - done);
    embedding_->forward(space, View1<const TokenId>(ids.data() + done, rows),
                        rows_of(out, done, rows));
  }
}

/// To be called where parameters have changed.
template <class S>
void Model<S>::refresh(const ExecSpace& space) {
  transformer_->refresh(space);
  head_->refresh(space);
}

/// What the passes over the same distinct tokens have in common.
template <class S>
void Model<S>::begin(const ExecSpace& space, View1<const TokenId> distinct) {
  refresh(space);
  embed(space, distinct, e_(distinct.extent(0)));
}

/// From the transformer's input to what the head reads.
template <class S>
void Model<S>::run(const ExecSpace& space, const Spans& spans, Index sequences) {
  transformer_->forward(space, spans, sequences);
  output_ = transformer_->output(sequences);
}

/// One pass over distinct tokens that have begun.
template <class S>
void Model<S>::run(const ExecSpace& space, View1<const TokenId> distinct, const ModelInput& input) {
  token_rows::spread<S>(space, e_(distinct.extent(0)), input.slot,
                        transformer_->input(input.sequences));
  run(space, input.spans, input.sequences);
}

template <class S>
void Model<S>::forward_backward(const ExecSpace& space, const StepBatch& batch,
                                GradientReducer<S>* reducer, const DeviceSum& nll_sum) {
  const View2<S> de = de_(batch.distinct.extent(0));
  const double scale = 1.0 / static_cast<double>(batch.targets_global);
  const bool head_is_shared = embedding_->costs().shared > 0;
  begin(space, batch.distinct);
  Kokkos::deep_copy(space, de, S(0));

  // A rank without sequences takes part in every reduction, in the same order.
  const std::size_t passes = std::max<std::size_t>(batch.micro.size(), 1);
  Index done = 0;
  for (std::size_t m = 0; m < passes; ++m) {
    GradientReducer<S>* const last = m + 1 == passes ? reducer : nullptr;
    const MicroBatch micro = batch.micro.empty() ? MicroBatch() : batch.micro[m];
    const Index b = micro.input.sequences, n = b * shape_.context;
    if (n > 0) {
      run(space, batch.distinct, micro.input);
      head_->loss_and_gradient(space, output_, micro.targets, scale, nll_.column(done, n),
                               transformer_->output_gradient(b));
    }
    if (!head_is_shared) reduce(space, last, head_->weight().range());
    backward(space, micro.input, last);
    if (n > 0) {
      token_rows::gather<S>(space, transformer_->gradient(b), micro.touched, micro.bucket_begin,
                            micro.bucket_position, de);
    }
    done += n;
  }

  if (batch.distinct.extent(0) > 0) {
    const Region region(interface_region);
    embedding_->backward(space, batch.distinct, de);
  }
  reduce(space, reducer, embedding_range_);
  if (head_is_shared) reduce(space, reducer, head_->weight().range());
  sum_losses(space, nll(done), nll_sum);
}

/// The transformer's backward, each of whose gradients is reduced as soon as it is complete.
template <class S>
void Model<S>::backward(const ExecSpace& space, const ModelInput& input,
                        GradientReducer<S>* reducer) {
  const Index b = input.sequences;
  if (b > 0) transformer_->backward_norm(space, b);
  reduce(space, reducer, transformer_->norm_range());
  for (Index l = layers_ - 1; l >= 0; --l) {
    if (b > 0) transformer_->backward_block(space, input.spans, l, b);
    reduce(space, reducer, transformer_->block_range(l));
  }
}

template <class S>
void Model<S>::evaluate(const ExecSpace& space, const StepBatch& batch, const DeviceSum& nll_sum) {
  begin(space, batch.distinct);
  Index done = 0;
  for (const MicroBatch& micro : batch.micro) {
    const Index n = micro.input.sequences * shape_.context;
    run(space, batch.distinct, micro.input);
    head_->loss(space, output_, micro.targets, nll_.column(done, n));
    done += n;
  }
  sum_losses(space, nll(done), nll_sum);
}

template <class S>
void Model<S>::score(const ExecSpace& space, View1<const TokenId> distinct, const ModelInput& input,
                     const ScoredTargets& scored) {
  begin(space, distinct);
  run(space, distinct, input);
  // No backward follows: the room of the output's gradient takes the rows that are scored.
  const View2<S> chosen = rows_of(transformer_->output_gradient(input.sequences), 0,
                                  static_cast<Index>(scored.target.extent(0)));
  token_rows::spread<S>(space, output_, scored.position, chosen);
  head_->score(space, chosen, scored.target, scored.nll, scored.largest);
}

template <class S>
void Model<S>::prefill(const ExecSpace& space, View1<const TokenId> ids, Index sequences) {
  const Index count = ids.extent(0);
  const View2<S> x = transformer_->input(1);
  refresh(space);
  embed(space, ids, rows_of(x, 0, count));
  // Attention looks back only: what stands behind the prompt changes nothing, but must be numbers.
  Kokkos::deep_copy(space, rows_of(x, count, shape_.context - count), S(0));
  run(space, Spans(), 1);
  transformer_->spread_cache(space, sequences);
}

template <class S>
void Model<S>::decode(const ExecSpace& space, View1<const TokenId> ids, Index position) {
  const Index sequences = ids.extent(0);
  embed(space, ids, transformer_->decode_input(sequences));
  transformer_->decode(space, sequences, position);
  output_ = transformer_->decode_output(sequences);
}

template <class S>
void Model<S>::logits(const ExecSpace& space, Index begin, View2<S> out) const {
  head_->logits(space, rows_of(output_, begin, static_cast<Index>(out.extent(0))), out);
}

template <class S>
void Model<S>::materialise(const ExecSpace& space, Index begin, View2<S> out) {
  const Index count = out.extent(0);
  for (Index done = 0; done < count; done += shape_.distinct_max) {
    const Index rows = std::min(shape_.distinct_max, count - done), first = begin + done;
    const View1<TokenId> ids = ids_.column(rows);
    for_each(
        "Lexikos::model::ids", space, rows,
        KOKKOS_LAMBDA(const Index i) { ids.data()[i] = static_cast<TokenId>(first + i); });
    embed(space, ids, rows_of(out, done, rows));
  }
}

template class Model<float>;
template class Model<double>;

}  // namespace lexikos

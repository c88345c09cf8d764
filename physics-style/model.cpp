#include "model.hpp"

#include <algorithm>

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
    : settings_(settings.transformer),
      shape_(shape_of(settings.transformer, sizes)),
      rank_positions_(sizes.rank_sequences * settings.transformer.context),
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
  nll_ = memory_.rows<double>("loss of each target", rank_positions_);
  ids_ = memory_.rows<TokenId>("ids to materialise", u);
}

template <class S>
void Model<S>::allocate(std::uint64_t seed, int rank, int ranks) {
  parameters_.allocate(slice_of(parameters_.arena_size(), rank, ranks));
  parameters_.initialise(seed);
  bind();
}

template <class S>
void Model<S>::allocate_for_evaluation() {
  parameters_.allocate_values();
  bind();
}

template <class S>
void Model<S>::bind() {
  memory_.allocate();
  transformer_->prepare(ExecSpace());
}

template <class S>
void Model<S>::refresh(const ExecSpace& space) const {
  transformer_->refresh(space);
  head_->refresh(space);
}

template <class S>
void Model<S>::embed(const ExecSpace& space, const StepBatch& batch) {
  if (batch.distinct_count == 0) return;
  embedding_->forward(space, batch.distinct, e_(batch.distinct_count));
}

template <class S>
void Model<S>::reduce(const ExecSpace& space, GradientReducer<S>* reducer, ArenaRange range) const {
  if (reducer != nullptr) reducer->start(space, range.begin, range.end);
}

template <class S>
void Model<S>::forward_backward(const ExecSpace& space, const StepBatch& batch,
                                GradientReducer<S>* reducer, const DeviceSum& nll_sum) {
  const View2<S> e = e_(batch.distinct_count);
  const View2<S> de = de_(batch.distinct_count);
  const double scale = 1.0 / static_cast<double>(batch.targets_global);
  const bool head_is_shared = embedding_->costs().shared > 0;
  refresh(space);
  Kokkos::deep_copy(space, de, S(0));
  {
    const Region region(interface_region);
    embed(space, batch);
  }

  // A rank without sequences takes part in every reduction, in the same order.
  const std::size_t passes = std::max<std::size_t>(batch.micro.size(), 1);
  Index done = 0;
  for (std::size_t m = 0; m < passes; ++m) {
    GradientReducer<S>* const last = m + 1 == passes ? reducer : nullptr;
    const MicroBatch empty;
    const MicroBatch& micro = batch.micro.empty() ? empty : batch.micro[m];
    const Index b = micro.sequences, n = b * shape_.context;
    if (n > 0) {
      token_rows::spread<S>(space, e, micro.slot, transformer_->input(b));
      transformer_->forward(space, micro.spans, b);
      head_->loss_and_gradient(space, transformer_->output(b), micro.targets, scale,
                               View1<double>(nll_.data() + done, n),
                               transformer_->output_gradient(b));
    }
    if (!head_is_shared) reduce(space, last, head_->weight().range());
    if (n > 0) transformer_->backward_norm(space, b);
    reduce(space, last, transformer_->norm_range());
    for (Index l = settings_.layers - 1; l >= 0; --l) {
      if (n > 0) transformer_->backward_block(space, micro.spans, l, b);
      reduce(space, last, transformer_->block_range(l));
    }
    if (n > 0) {
      token_rows::gather<S>(space, transformer_->gradient(b), micro.touched, micro.bucket_begin,
                            micro.bucket_position, de);
    }
    done += n;
  }

  if (batch.distinct_count > 0) {
    const Region region(interface_region);
    embedding_->backward(space, batch.distinct, de);
  }
  reduce(space, reducer, embedding_range_);
  if (head_is_shared) reduce(space, reducer, head_->weight().range());
  const View1<double> nll = this->nll(done);
  sum_into(
      "Lexikos::model::loss", space, done, KOKKOS_LAMBDA(const Index n) { return nll(n); },
      nll_sum);
}

template <class S>
void Model<S>::evaluate(const ExecSpace& space, const StepBatch& batch, const DeviceSum& nll_sum) {
  const View2<S> e = e_(batch.distinct_count);
  refresh(space);
  embed(space, batch);
  Index done = 0;
  for (const MicroBatch& micro : batch.micro) {
    const Index b = micro.sequences, n = b * shape_.context;
    token_rows::spread<S>(space, e, micro.slot, transformer_->input(b));
    transformer_->forward(space, micro.spans, b);
    head_->loss(space, transformer_->output(b), micro.targets,
                View1<double>(nll_.data() + done, n));
    done += n;
  }
  const View1<double> nll = this->nll(done);
  sum_into(
      "Lexikos::model::loss", space, done, KOKKOS_LAMBDA(const Index n) { return nll(n); },
      nll_sum);
}

template <class S>
void Model<S>::score(const ExecSpace& space, const StepBatch& batch, const MicroBatch& micro,
                     const ScoredTargets& scored) {
  const Index b = micro.sequences, count = scored.target.extent(0);
  refresh(space);
  embed(space, batch);
  token_rows::spread<S>(space, e_(batch.distinct_count), micro.slot, transformer_->input(b));
  transformer_->forward(space, micro.spans, b);
  // No backward follows: the room of the output's gradient takes the rows that are scored.
  const View2<S> chosen(transformer_->output_gradient(b).data(), count, shape_.width);
  token_rows::spread<S>(space, transformer_->output(b), scored.position, chosen);
  head_->score(space, chosen, scored.target, scored.nll, scored.largest);
}

template <class S>
void Model<S>::logits(const ExecSpace& space, Index sequences, View2<S> out) const {
  head_->logits(space, transformer_->output(sequences), out);
}

template <class S>
void Model<S>::materialise(const ExecSpace& space, Index begin, Index rows, View2<S> out) {
  const View1<TokenId> ids = ids_.column(rows);
  for_each(
      "Lexikos::model::ids", space, rows,
      KOKKOS_LAMBDA(const Index i) { ids.data()[i] = static_cast<TokenId>(begin + i); });
  embedding_->forward(space, ids, out);
}

template class Model<float>;
template class Model<double>;

}  // namespace lexikos

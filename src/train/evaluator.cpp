#include "train/evaluator.hpp"

#include <cmath>
#include <limits>

#include "kernels/binned_sum.hpp"
#include "train/step_record.hpp"

namespace lexikos {
namespace {

constexpr FileFormat evaluation_format = {"lexikos-evaluation", 1};

/// What the numbers of an evaluation.h5 mean.
constexpr const char* evaluation_definition =
    "loss: negative log-likelihood in nats, summed over the targets of windows of T tokens of the "
    "validation split and divided by their number; windows do not overlap and are spread evenly, "
    "each target is predicted from the tokens before it in its window. perplexity: exp(loss), per "
    "token. Bins: by an id's relative frequency in the training tokens.";

double mean(double sum, Index count) {
  return count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
}

FrequencyBins bins_for(const ValidationSettings& settings, const RunData& data) {
  if (data.train_counts.empty()) return {};
  return {settings.frequency_edges, data.train_counts, data.vocabulary};
}

}  // namespace

double BinLoss::loss() const { return mean(nll, targets); }

double Evaluation::loss() const { return mean(nll, targets); }

bool Evaluation::finite() const { return targets == 0 || std::isfinite(nll); }

double ValidationRow::perplexity() const { return std::exp(loss); }

double FrequencyRow::perplexity() const { return std::exp(loss); }

const RowGroup<ValidationRow> ValidationRow::group = {
    "validation",
    "one row an evaluation on the validation tokens",
    {step_column<ValidationRow>(),
     tokens_column<ValidationRow>(),
     {"loss", "nats per token",
      "cross entropy summed over the validation targets and divided by their number",
      &ValidationRow::loss},
     {"perplexity", "1", "exp(loss), per token; infinite where it is past the largest double",
      &ValidationRow::perplexity},
     {"targets", "tokens", "number of targets that were scored", &ValidationRow::targets}}};

const RowGroup<FrequencyRow> FrequencyRow::group = {
    "frequency",
    "one row a bin of token frequency in each evaluation",
    {step_column<FrequencyRow>(),
     tokens_column<FrequencyRow>(),
     {"lower", "1",
      "the bin holds the ids whose relative frequency in the training tokens is at least this and "
      "below `upper`",
      &FrequencyRow::lower},
     {"upper", "1", "end of the bin, infinite for the last", &FrequencyRow::upper},
     {"ids", "1", "ids of the vocabulary in this bin", &FrequencyRow::ids},
     {"targets", "tokens", "validation targets whose id is in this bin", &FrequencyRow::targets},
     {"loss", "nats per token",
      "cross entropy summed over these targets and divided by their number; NaN without targets",
      &FrequencyRow::loss},
     {"perplexity", "1",
      "exp(loss), per token of this bin; infinite where it is past the largest double",
      &FrequencyRow::perplexity}},
    /* may_be_absent = */ true};

void append(History& history, const Evaluation& e, Index step, Index tokens) {
  history.append(ValidationRow{step, tokens, e.loss(), e.targets});
  for (const BinLoss& b : e.bins) {
    history.append(
        FrequencyRow{step, tokens, b.bin.lower, b.bin.upper, b.bin.ids, b.targets, b.loss()});
  }
}

void write_evaluation(const std::string& path, const Attributes& attributes,
                      const Evaluation& evaluation, Index step, Index tokens) {
  History history;
  history.declare<ValidationRow>();
  history.declare<FrequencyRow>();
  append(history, evaluation, step, tokens);
  Attributes all = attributes;
  all.set("step", step).set("tokens", tokens).set("definition", evaluation_definition);
  history.write(path, evaluation_format, all);
}

template <class S>
Evaluator<S>::Evaluator(const ValidationSettings& settings, const BatchSettings& batch,
                        const BatchOptions& options, const RunData& data, const Communicator& comm,
                        Model<S>& model)
    : comm_(comm),
      model_(model),
      windows_(select_windows(*data.validation, model.shape().context, settings.tokens)),
      loader_(*data.validation,
              {.T = model.shape().context,
               .sequences = batch.sequences,
               .micro_sequences = model.shape().micro_batch,
               .rank = comm.rank(),
               .ranks = comm.size()},
              windows_, options),
      bins_(bins_for(settings, data)),
      bin_of_("Lexikos::evaluator::bin_of", bins_.bin_of().size()),
      sums_("Lexikos::evaluator::sums", 1 + 2 * bins_.count()),
      work_("Lexikos::evaluator::work", 2 * bins_.count()) {
  const Kokkos::View<const std::uint8_t*, Kokkos::HostSpace, Window> host(bins_.bin_of().data(),
                                                                          bins_.bin_of().size());
  Kokkos::deep_copy(bin_of_, host);
}

template <class S>
void Evaluator<S>::sum_batch(const ExecSpace& space, const StepBatch& batch) {
  model_.evaluate(space, batch, DeviceSum(sums_.data()));
  const Index bins = bins_.count();
  const View1<double> binned(sums_.data() + 1, 2 * bins);
  Kokkos::deep_copy(space, binned, 0.0);
  const View1<const double> nll = model_.nll(batch.sequences * batch.T);
  Index done = 0;
  for (const MicroBatch& micro : batch.micro) {
    const Index n = micro.input.sequences * batch.T;
    add_binned(space, View1<const double>(nll.data() + done, n), micro.targets,
               View1<const std::uint8_t>(bin_of_.data(), bin_of_.size()), binned,
               View1<double>(work_.data(), 2 * bins));
    done += n;
  }
}

template <class S>
Evaluation Evaluator<S>::run(const ExecSpace& space) {
  std::vector<double> total(sums_.size(), 0.0);
  for (Index i = 0; i < loader_.steps(); ++i) {
    const StepBatch* batch = nullptr;
    comm_.on_all([&] { batch = &loader_.load(i); });
    sum_batch(space, *batch);
    const auto part = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), sums_);
    for (std::size_t k = 0; k < total.size(); ++k) total[k] += part(k);
  }
  comm_.sum(total);
  Evaluation e;
  e.nll = total[0];
  e.targets = targets();
  for (Index b = 0; b < bins_.count(); ++b) {
    e.bins.push_back(
        {bins_.bins()[b], static_cast<Index>(total[1 + bins_.count() + b]), total[1 + b]});
  }
  return e;
}

template class Evaluator<float>;
template class Evaluator<double>;

}  // namespace lexikos

#include "train/evaluator.hpp"

#include <cmath>
#include <limits>

#include "kernels/binned_sum.hpp"

namespace lexikos {
namespace {

double mean(double sum, Index count) {
  return count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
}

FrequencyBins bins_for(const RunSettings& settings, const RunData& data) {
  if (data.train_counts.empty()) return {};
  return {settings.frequency_edges, data.train_counts, data.vocabulary};
}

}  // namespace

double BinLoss::loss() const { return mean(nll, targets); }

double Evaluation::loss() const { return mean(nll, targets); }

std::string evaluation_definition() {
  return "loss: negative log-likelihood in nats, summed over the targets of windows of T tokens "
         "of the validation split and divided by their number; windows do not overlap and are "
         "spread evenly, each target is predicted from the tokens before it in its window. "
         "perplexity: "
         "exp(loss), per token. Bins: by an id's relative frequency in the training tokens.";
}

void append(History& history, const Evaluation& e, Index step, Index tokens) {
  history.append("validation", {step, tokens, e.loss(), std::exp(e.loss()), e.targets});
  for (const BinLoss& b : e.bins) {
    history.append("frequency", {step, tokens, b.bin.lower, b.bin.upper, b.bin.ids, b.targets,
                                 b.loss(), std::exp(b.loss())});
  }
}

template <class S>
Evaluator<S>::Evaluator(const RunSettings& settings, const RunData& data, const Communicator& comm,
                        Model<S>& model)
    : comm_(comm),
      model_(model),
      windows_(select_windows(*data.validation, model.shape().context, settings.validation_tokens)),
      loader_(*data.validation, model.shape().context, settings.batch_sequences, comm.rank(),
              comm.size(), model.shape().micro_batch, windows_, settings.data.batch_options()),
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
    const Index n = micro.sequences * micro.T;
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

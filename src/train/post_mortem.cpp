#include "train/post_mortem.hpp"

#include <cmath>

#include "optim/adamw.hpp"

namespace lexikos {
namespace {

/// Places and mean losses of the step's samples, each rank filling in its own. A NaN stays one.
void examine_samples(const Model<float>& model, const StepBatch& batch, const BatchLoader& loader,
                     Index step, const Communicator& comm, PostMortem& found) {
  const Index T = model.shape().context;
  const Index all = batch.targets_global / T;
  const Share mine = loader.samples(step - 1);
  std::vector<double> numbers(3 * all, 0.0);  // source, first token and loss of each
  const auto nll =
      Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), model.nll(batch.sequences * T));
  for (Index i = 0; i < batch.sequences; ++i) {
    double sum = 0;
    for (Index t = 0; t < T; ++t) sum += nll(i * T + t);
    const Sample sample = loader.sample(mine.begin + i);
    double* const place = &numbers[3 * (mine.begin - (step - 1) * all + i)];
    place[0] = static_cast<double>(sample.source);
    place[1] = static_cast<double>(sample.begin);
    place[2] = sum / static_cast<double>(T);
  }
  comm.sum(numbers);
  for (Index i = 0; i < all; ++i) {
    found.samples.push_back((step - 1) * all + i);
    found.sources.push_back(static_cast<std::int64_t>(numbers[3 * i]));
    found.first_tokens.push_back(static_cast<std::int64_t>(numbers[3 * i + 1]));
    found.sample_losses.push_back(numbers[3 * i + 2]);
  }
}

std::string what_is_not_finite(const StepRecord& r) {
  return std::string(std::isfinite(r.loss) ? "the gradient" : "the loss") +
         " is not finite at step " + std::to_string(r.step) + "; stopped before the update";
}

}  // namespace

NotFinite::NotFinite(const StepRecord& record, PostMortem found)
    : Error(Status::numerical, what_is_not_finite(record)),
      record(record),
      found(std::move(found)) {}

PostMortem examine(const ExecSpace& space, const Model<float>& model, const StepBatch& batch,
                   const BatchLoader& loader, Index step, const Communicator& comm) {
  PostMortem found;
  found.step = step;
  examine_samples(model, batch, loader, step, comm, found);
  const Parameters<float>& parameters = model.parameters();
  const auto bad = [&](const Buffer<float>& arena, const ParameterInfo& info) {
    return count_not_finite<float>(space,
                                   View1<const float>(arena.data() + info.offset, info.size));
  };
  for (const ParameterInfo& info : model.parameters().infos()) {
    found.parameters.push_back(info.name);
    found.elements.push_back(info.size);
    found.bad_values.push_back(bad(parameters.values(), info));
    found.bad_gradients.push_back(bad(parameters.gradients(), info));
  }
  return found;
}

}  // namespace lexikos

// Held-out loss of a model over a fixed set of windows, in all and by token frequency.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/open_data.hpp"
#include "data/tokens/frequency_bins.hpp"
#include "model.hpp"
#include "outputs/history.hpp"
#include "parallel/communicator.hpp"
#include "train/settings.hpp"

namespace lexikos {

/// The targets of one bin.
struct BinLoss {
  FrequencyBin bin;
  Index targets = 0;
  double nll = 0;  ///< nats, summed over them
  /// nats per token; NaN without targets.
  double loss() const;
};

struct Evaluation {
  Index targets = 0;
  double nll = 0;             ///< nats, summed over the targets
  std::vector<BinLoss> bins;  ///< ascending; every target is in one. Empty without training counts
  double loss() const;        ///< nats per token; NaN without targets
  bool finite() const;        ///< false: the loss was computed, and is no number
};

/// The validation targets in all.
struct ValidationRow {
  Index step = 0, tokens = 0;
  double loss = 0;  // nats per token
  Index targets = 0;
  double perplexity() const;
  static const RowGroup<ValidationRow> group;
};

/// The validation targets whose ids are in one bin of frequency.
struct FrequencyRow {
  Index step = 0, tokens = 0;
  double lower = 0, upper = 0;
  Index ids = 0, targets = 0;
  double loss = 0;  // nats per token
  double perplexity() const;
  static const RowGroup<FrequencyRow> group;
};

/// Adds a ValidationRow and a FrequencyRow a bin.
void append(History& history, const Evaluation& evaluation, Index step, Index tokens);

/// Writes what an evaluation found as an evaluation.h5: the groups "validation" and "frequency",
/// and `attributes` beside `step`, `tokens` and the definition of the numbers. Errors: as
/// Hdf5Writer.
void write_evaluation(const std::string& path, const Attributes& attributes,
                      const Evaluation& evaluation, Index step, Index tokens);

/// Evaluates a model on windows that are spread evenly over the validation tokens. Which windows,
/// and the context that each target is predicted from, depend on the deck only, never on ranks or
/// micro-batch.
template <class S>
class Evaluator {
 public:
  /// Collective. `data.validation` must be there; all arguments must outlive this object.
  Evaluator(const ValidationSettings& settings, const BatchSettings& batch,
            const BatchOptions& options, const RunData& data, const Communicator& comm,
            Model<S>& model);

  Index targets() const { return windows_.count * model_.shape().context; }

  /// Collective; the same result on every rank.
  Evaluation run(const ExecSpace& space);

 private:
  void sum_batch(const ExecSpace& space, const StepBatch& batch);

  const Communicator& comm_;
  Model<S>& model_;
  WindowSelection windows_;
  BatchLoader loader_;
  FrequencyBins bins_;
  Buffer<std::uint8_t> bin_of_;  // [V]
  Buffer<double> sums_;          // nll; nll of each bin; targets of each bin
  Buffer<double> work_;          // [2 bins]
};

}  // namespace lexikos

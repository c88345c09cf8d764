// Which window of which source a sample is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/batches/sample_order.hpp"
#include "data/batches/weighted_turns.hpp"
#include "data/batches/windows.hpp"
#include "data/tokens/token_source.hpp"

namespace lexikos {

/// A source of training windows and its weight in the mixture.
struct WeightedSource {
  const TokenSource* tokens = nullptr;
  double weight = 1;
};

/// Where a sample's window begins.
struct Sample {
  Index source = 0;
  Index begin = 0;  ///< token of that source
};

/// The samples of a training run or of an evaluation, numbered over all ranks. The sources must
/// outlive this object.
class Samples {
 public:
  /// Training, without end: WeightedTurns says which source sample g comes from and that it is the
  /// n-th of it; that source's own SampleOrder says which of its windows. So every source has its
  /// own epochs, in each of which it gives every window once. The order of source 0 has the key
  /// `seed`, which makes a single source's order what it is without a mixture.
  /// Errors: as Windows and WeightedTurns.
  Samples(const std::vector<WeightedSource>& sources, Index T, std::uint64_t seed);

  /// Evaluation: the selected windows in order. Errors (Status::deck): a selection from another
  /// number of windows.
  Samples(const TokenSource& source, Index T, WindowSelection selection);

  /// g >= 0, and below count() in an evaluation.
  [[nodiscard]] Sample sample(Index g) const;
  /// Windows of all sources together, or of the evaluation.
  [[nodiscard]] Index count() const { return count_; }
  [[nodiscard]] bool endless() const { return !selection_; }

  [[nodiscard]] const TokenSource& source(Index i) const {
    return *parts_[static_cast<std::size_t>(i)].tokens;
  }
  [[nodiscard]] Index source_count() const { return static_cast<Index>(parts_.size()); }
  /// The largest of the sources'.
  [[nodiscard]] Index vocabulary_size() const;
  [[nodiscard]] bool reads_on_any_thread() const;
  /// The first source's name, for messages.
  [[nodiscard]] std::string name() const { return source(0).name(); }

 private:
  struct Part {
    const TokenSource* tokens;
    Windows windows;
    SampleOrder order;
  };

  std::vector<Part> parts_;
  std::optional<WeightedTurns> turns_;  // only where there are several sources
  std::optional<WindowSelection> selection_;
  Index count_ = 0;
};

}  // namespace lexikos

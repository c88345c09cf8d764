// Bins of token ids by how frequent they are in training: what a stratified loss is sorted into.
#pragma once

#include <cstdint>
#include <vector>

#include "kokkos_types.hpp"

namespace lexikos {

/// The ids whose relative frequency f in the training tokens is lower <= f < upper.
struct FrequencyBin {
  double lower = 0;  ///< 0 in the first bin, which therefore holds the ids never seen in training
  double upper = 0;  ///< infinity in the last bin
  Index ids = 0;     ///< how many ids of the vocabulary
};

class FrequencyBins {
 public:
  static constexpr std::size_t max_edges = 255;  ///< bins are numbered in a byte

  /// No bins.
  FrequencyBins() = default;

  /// edges.size() + 1 bins; edges increase and lie above 0 and below 1, at most max_edges of them.
  /// f = count / sum of counts; ids from train_counts.size() up to `vocabulary` (padding) count as
  /// never seen. Errors (Status::file): all counts zero, more counts than `vocabulary`.
  FrequencyBins(const std::vector<double>& edges, const std::vector<std::uint64_t>& train_counts,
                Index vocabulary);

  /// Ascending; empty for the default object.
  [[nodiscard]] const std::vector<FrequencyBin>& bins() const { return bins_; }
  [[nodiscard]] Index count() const { return static_cast<Index>(bins_.size()); }

  /// [V] the bin of each id.
  [[nodiscard]] const std::vector<std::uint8_t>& bin_of() const { return bin_of_; }

 private:
  std::vector<FrequencyBin> bins_;
  std::vector<std::uint8_t> bin_of_;
};

}  // namespace lexikos

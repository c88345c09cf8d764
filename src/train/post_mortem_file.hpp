// postmortem_<step>.h5: what a run found in the step that it could not take.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hdf5/attributes.hpp"

namespace lexikos {

inline constexpr std::int64_t post_mortem_format_version = 1;

/// Samples of the step over all ranks, in order, and every parameter.
struct PostMortem {
  std::int64_t step = 0;                    ///< the one that was not taken
  std::vector<std::int64_t> samples;        ///< numbers since the start of training
  std::vector<std::int64_t> sources;        ///< which of the deck's training sources each is of
  std::vector<std::int64_t> first_tokens;   ///< where its window begins in that source
  std::vector<double> sample_losses;        ///< mean over the targets of each, nats per token
  std::vector<std::string> parameters;      ///< names
  std::vector<std::int64_t> elements;       ///< of each parameter
  std::vector<std::int64_t> bad_values;     ///< elements that are NaN or infinite
  std::vector<std::int64_t> bad_gradients;  ///< the same of the gradient
};

/// <folder>/postmortem_<step with 8 digits>.h5
std::string post_mortem_path(const std::string& folder, std::int64_t step);

/// Throws Error(file).
void write_post_mortem(const std::string& path, const Attributes& attributes,
                       const PostMortem& found);

}  // namespace lexikos

#include "data/batches/weighted_turns.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/philox.hpp"
#include "utils/error.hpp"

namespace lexikos {

namespace {

constexpr std::uint64_t range = std::uint64_t{1} << 32;

std::uint32_t reversed(std::uint32_t v) {
  v = ((v >> 1) & 0x55555555u) | ((v & 0x55555555u) << 1);
  v = ((v >> 2) & 0x33333333u) | ((v & 0x33333333u) << 2);
  v = ((v >> 4) & 0x0f0f0f0fu) | ((v & 0x0f0f0f0fu) << 4);
  v = ((v >> 8) & 0x00ff00ffu) | ((v & 0x00ff00ffu) << 8);
  return (v >> 16) | (v << 16);
}

}  // namespace

WeightedTurns::WeightedTurns(std::uint64_t seed, const std::vector<double>& weights)
    : key_(random_words(seed, stream_of("mixture"), 0).word[0]), bounds_{0} {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0;
  for (const double weight : weights) {
    sum += weight;
    bounds_.push_back(
        static_cast<std::uint64_t>(std::llround(sum / total * static_cast<double>(range))));
    if (!(weight > 0) || bounds_.back() < bounds_[bounds_.size() - 2] + 2) {
      fail(Status::deck, "a source of the mixture has the weight " + std::to_string(weight) +
                             " of " + std::to_string(total) +
                             ", too little to be drawn; leave it out");
    }
  }
  if (weights.empty()) fail(Status::deck, "a mixture needs at least one source");
  bounds_.back() = range;
}

// How many of the samples [0, samples), samples <= 2^32, have v < bound. A block of 2^k samples,
// from a multiple of 2^k on, takes all values v that agree in the last 32 - k bits.
std::uint64_t WeightedTurns::below(std::uint64_t samples, std::uint64_t bound) const {
  std::uint64_t count = 0, begin = 0;
  for (int k = 32; k >= 0; --k) {
    const std::uint64_t block = std::uint64_t{1} << k;
    if ((samples & block) == 0) continue;
    const std::uint64_t step = range >> k;
    const std::uint64_t v = reversed(static_cast<std::uint32_t>(begin)) ^ key_;
    const std::uint64_t first = v & (step - 1);
    if (bound > first) count += std::min(block, (bound - first + step - 1) / step);
    begin += block;
  }
  return count;
}

WeightedTurns::Turn WeightedTurns::turn(Index sample) const {
  const auto cycle = static_cast<std::uint64_t>(sample) / range;
  const auto place = static_cast<std::uint64_t>(sample) % range;
  const std::uint64_t v = reversed(static_cast<std::uint32_t>(place)) ^ key_;
  const auto after = std::upper_bound(bounds_.begin(), bounds_.end(), v);
  const auto source = static_cast<std::size_t>(after - bounds_.begin()) - 1;
  const std::uint64_t low = bounds_[source], high = bounds_[source + 1];
  const std::uint64_t earlier = below(place, high) - below(place, low);
  return {static_cast<Index>(source), static_cast<Index>(cycle * (high - low) + earlier)};
}

}  // namespace lexikos

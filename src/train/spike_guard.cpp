#include "train/spike_guard.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "utils/error.hpp"

namespace lexikos {
namespace {

/// NaN, where an older program wrote the row, is not "left out".
bool left_out(double value) { return value > 0; }

}  // namespace

SpikeGuardSettings SpikeGuardSettings::read(const Deck& deck) {
  const DeckTable table = deck.table("spike_guard");
  SpikeGuardSettings s;
  s.deviations = table.real(
      {.name = "deviations",
       .doc =
           "a step whose loss or gradient norm is so many standard deviations above the window's "
           "mean is left out; 0: none is"},
      0.0, Between(0, 1e6));
  s.stretch = table.integer(
      {.name = "window", .doc = "steps before it that were not left out", .unit = "steps"}, 100,
      Between(2, 1e6));
  s.most_in_a_row = table.integer({.name = "most_in_a_row",
                                   .doc = "left out one after another; then the run ends",
                                   .unit = "steps"},
                                  10, Between(1, 1e9));
  return s;
}

void SpikeGuard::restart(const History& history) {
  skipped_ = 0;
  for (const double value : history.values(&StepRecord::skipped)) skipped_ += left_out(value);
}

bool SpikeGuard::is_spike(const History& history, double StepRecord::*column, double value) const {
  const std::vector<double>& all = history.values(column);
  const std::vector<double>& skipped = history.values(&StepRecord::skipped);
  double sum = 0, squares = 0, shift = 0;
  Index count = 0;
  for (std::size_t i = all.size(); i > 0 && count < settings_.stretch; --i) {
    if (left_out(skipped[i - 1])) continue;
    if (count == 0) shift = all[i - 1];  // so that equal digits do not cancel in the squares
    const double x = all[i - 1] - shift;
    sum += x;
    squares += x * x;
    ++count;
  }
  if (count < settings_.stretch) return false;
  const double mean = sum / static_cast<double>(count);
  const double variance = std::max(0.0, squares / static_cast<double>(count) - mean * mean);
  return value - shift > mean + settings_.deviations * std::sqrt(variance);
}

bool SpikeGuard::skips(const History& history, double loss, double gradient_norm) {
  if (settings_.deviations == 0) return false;
  if (!is_spike(history, &StepRecord::loss, loss) &&
      !is_spike(history, &StepRecord::gradient_norm, gradient_norm)) {
    return false;
  }
  Index in_a_row = 0;
  const std::vector<double>& skipped = history.values(&StepRecord::skipped);
  while (in_a_row < static_cast<Index>(skipped.size()) &&
         left_out(skipped[skipped.size() - 1 - in_a_row])) {
    ++in_a_row;
  }
  if (in_a_row >= settings_.most_in_a_row) {
    fail(Status::numerical,
         "the spike guard left out " + std::to_string(in_a_row) +
             " steps one after another (spike_guard.most_in_a_row): this is no single bad batch; "
             "go on from an earlier checkpoint with a lower optimizer.learning_rate");
  }
  ++skipped_;
  return true;
}

}  // namespace lexikos

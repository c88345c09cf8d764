// The learning rate as a function of the step: warm-up, then constant, cosine or WSD.
#pragma once

#include <cmath>
#include <numbers>
#include <string>

#include "deck/deck.hpp"

namespace lexikos {

struct Schedule {
  enum class Kind { constant, cosine, wsd };
  Kind kind = Kind::cosine;
  double peak = 0;            // largest learning rate
  std::int64_t warmup = 0;    // steps of linear warm-up
  double final_fraction = 0;  // last learning rate over peak
  double decay_fraction = 0;  // WSD: share of all steps that decay, at the end
  std::int64_t steps = 0;     // of the whole run

  /// Reads the schedule's keys of deck table [optimizer].
  static Schedule read(const Deck& deck, std::int64_t steps);

  /// Learning rate of step 1 .. steps.
  double at(std::int64_t step) const;
};

inline Schedule Schedule::read(const Deck& deck, std::int64_t steps) {
  const DeckTable table = deck.table("optimizer");
  Schedule s;
  s.steps = steps;
  s.peak =
      table.real({.name = "learning_rate", .doc = "largest learning rate"}, 1e-3, Between(0, 1e30));
  const std::string kind = table.choice(
      {.name = "schedule", .doc = "after warm-up: cosine; wsd: constant, then linear decay"},
      "cosine", {"constant", "cosine", "wsd"});
  s.kind = kind == "constant" ? Kind::constant : kind == "wsd" ? Kind::wsd : Kind::cosine;
  s.warmup =
      table.integer({.name = "warmup_steps", .doc = "linear warm-up from zero", .unit = "steps"}, 0,
                    Between(0, 1e12));
  s.final_fraction = table.real(
      {.name = "final_fraction", .doc = "last learning rate over largest"}, 0.1, Between(0, 1));
  s.decay_fraction = table.real({.name = "decay_fraction", .doc = "wsd: share of steps that decay"},
                                0.2, Between(0, 1));
  return s;
}

inline double Schedule::at(std::int64_t step) const {
  if (step < warmup) return peak * static_cast<double>(step) / static_cast<double>(warmup);
  if (kind == Kind::constant) return peak;
  const double last = peak * final_fraction;
  const std::int64_t begin =
      kind == Kind::cosine
          ? warmup
          : std::max(warmup, steps - static_cast<std::int64_t>(std::llround(
                                         decay_fraction * static_cast<double>(steps))));
  if (step <= begin || steps <= begin) return peak;
  const double done =
      std::min(1.0, static_cast<double>(step - begin) / static_cast<double>(steps - begin));
  if (kind == Kind::wsd) return peak + (last - peak) * done;
  return last + 0.5 * (peak - last) * (1.0 + std::cos(std::numbers::pi * done));
}

}  // namespace lexikos

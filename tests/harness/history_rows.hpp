// Rows for tests of files: two groups that every checkpoint has, and one that old files lack.
#pragma once

#include <cmath>

#include "outputs/history.hpp"

namespace fixtures {

struct StepRow {
  std::int64_t step = 0, tokens = 0;
  double loss = 0, seconds = 0;
  inline static const lexikos::RowGroup<StepRow> group = {
      "history",
      "one row a step",
      {{"step", "1", "its number", &StepRow::step},
       {"tokens", "tokens", "up to it", &StepRow::tokens},
       {"loss", "nats per token", "of its batch", &StepRow::loss},
       {"seconds", "s", "up to it", &StepRow::seconds}}};
};

struct LossRow {
  std::int64_t step = 0;
  double loss = 0;
  double perplexity() const { return std::exp(loss); }
  inline static const lexikos::RowGroup<LossRow> group = {
      "validation",
      "one row an evaluation",
      {{"step", "1", "its number", &LossRow::step},
       {"loss", "nats per token", "mean", &LossRow::loss},
       {"perplexity", "1", "exp(loss)", &LossRow::perplexity}}};
};

struct LateRow {
  std::int64_t step = 0;
  inline static const lexikos::RowGroup<LateRow> group = {
      "late", "came with a later version", {{"step", "1", "its number", &LateRow::step}}, true};
};

/// No rows.
inline lexikos::History empty_history() {
  lexikos::History history;
  history.declare<StepRow>();
  history.declare<LossRow>();
  history.declare<LateRow>();
  return history;
}

inline StepRow step_row(std::int64_t step) {
  const auto s = static_cast<double>(step);
  return {step, step * 512, 9.0 / (s + 1), 0.5 * s};
}

/// Steps 1 to `steps`, an evaluation every ten.
inline lexikos::History some_history(std::int64_t steps) {
  lexikos::History history = empty_history();
  for (std::int64_t step = 1; step <= steps; ++step) {
    history.append(step_row(step));
    if (step % 10 == 0) history.append(LossRow{step, 2.0});
  }
  return history;
}

}  // namespace fixtures

// What one training step found: a row of the group "history".
#pragma once

#include "kokkos_types.hpp"
#include "outputs/columns.hpp"

namespace lexikos {

struct StepRecord {
  Index step = 0;            // its number, from 1
  Index tokens = 0;          // targets trained on with it, all ranks
  double loss = 0;           // nats per token over the global batch
  double learning_rate = 0;  // of its update
  double gradient_norm = 0;  // before clipping
  double seconds = 0;        // of this step
  double train_seconds = 0;  // of all steps up to it
  double tokens_per_second = 0;
  double data_seconds = 0;  // of `seconds`: until every rank had its batch on its device
  double skipped = 0;       // 1: the spike guard left the update out
  static const RowGroup<StepRecord> group;
};

/// The columns that every group of a run begins with.
template <class Row>
Column<Row> step_column() {
  return {"step", "1", "steps of the optimiser done when the row was written", &Row::step};
}
template <class Row>
Column<Row> tokens_column() {
  return {"tokens", "tokens", "target tokens trained on up to this step, all ranks", &Row::tokens};
}

}  // namespace lexikos

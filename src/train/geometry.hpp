// The cosines of all pairs of embedding rows while a model is trained: group "geometry".
#pragma once

#include "model.hpp"
#include "outputs/history.hpp"
#include "parallel/communicator.hpp"

namespace lexikos {

/// One matrix: the mean and standard deviation of the cosines of all pairs of its rows.
struct GeometryRow {
  Index step = 0, tokens = 0;
  Index matrix = 0;  // 0: the input matrix, 1: the head's
  double mu = 0, sigma = 0, epsilon = 0;
  double epsilon_centred = 0;  // of the rows less their mean
  static const RowGroup<GeometryRow> group;
};

/// Adds a row of the input matrix, and one of the head's where that is another. What its rows do
/// not define (fewer than two that are not zero, or that differ from their mean) is NaN. Throws
/// Error(numerical) where a value is not finite. Collective.
void measure_geometry(Model<float>& model, const Communicator& comm, Index step, Index tokens,
                      History& history);

}  // namespace lexikos

#include "train/geometry.hpp"

#include "capacity/analysis.hpp"
#include "train/member_files.hpp"
#include "train/step_record.hpp"

namespace lexikos {

const RowGroup<GeometryRow> GeometryRow::group = {
    "geometry",
    "one row a matrix each time its cosines were measured",
    {step_column<GeometryRow>(),
     tokens_column<GeometryRow>(),
     {"matrix", "1", "0: the input matrix, one row a token; 1: the head's", &GeometryRow::matrix},
     {"mu", "1", "mean of the cosines of all pairs of rows; NaN where there is no pair",
      &GeometryRow::mu},
     {"sigma", "1", "their standard deviation", &GeometryRow::sigma},
     {"epsilon", "1", "mu + 2 sigma", &GeometryRow::epsilon},
     {"epsilon_centred", "1",
      "the same of the rows less their mean; NaN where fewer than two differ from it",
      &GeometryRow::epsilon_centred}},
    /* may_be_absent = */ true};

void measure_geometry(Model<float>& model, const Communicator& comm, Index step, Index tokens,
                      History& history) {
  const auto measure = [&](Index matrix, const char* name, const std::vector<float>& rows) {
    capacity::AnalysisSettings settings;
    settings.spectrum_width = 0;  // eigenvalues are the job `capacity`'s
    const capacity::MatrixReport report = capacity::analyse(
        WeightMatrix::over(rows.data(), model.shape().vocabulary, model.shape().width, name),
        settings, comm);
    const capacity::SetStatistics none;  // of a matrix without two rows that have a direction
    const capacity::SetStatistics& raw = report.sets.empty() ? none : report.sets[0];
    const capacity::SetStatistics& centred = report.sets.empty() ? none : report.sets[1];
    history.append(GeometryRow{step, tokens, matrix, raw.mean, raw.deviation, raw.epsilon(),
                               centred.epsilon()});
  };
  measure(0, "the input matrix", input_matrix_on_host(model));
  if (model.costs().embedding.shared == 0) {
    measure(1, "the head's matrix", output_matrix_on_host(model));
  }
}

}  // namespace lexikos

// What a matrix of embedding rows looks like: everything that job `capacity` reports of it.
// A trainer calls analyse() on WeightMatrix::over(the rows that Model::materialise gives).
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "capacity/law.hpp"
#include "capacity/pairs.hpp"
#include "deck/deck.hpp"

namespace lexikos::capacity {

struct AnalysisSettings {
  PairSettings pairs;                       // `inner` is set by analyse()
  Index vocabulary_size = 0;                // rows from here on are padding; 0: none
  std::vector<std::uint64_t> train_counts;  // how often each row was trained on; empty: not known
  double outlier_z = 6.0;
  Index norm_bins = 100;
  Index gram_width = 2048;             // largest D whose D x D Gram matrix is made
  Index spectrum_width = 2048;         // largest D whose eigenvalues are computed from it
  Index double_work = Index{4} << 30;  // up to this n^2 D, pairs are multiplied in double

  /// Keys of [capacity] that belong to the analysis.
  static AnalysisSettings read(const DeckTable& table);
};

/// Where the deviation comes from, best first.
enum class MomentSource { pairs, gram, tiles };
const char* moment_source_text(MomentSource source);

/// Numbers of one set of rows, raw or centred.
struct SetStatistics {
  std::string name;     // "raw", "centred", "raw_regular", "centred_regular"
  std::string meaning;  // one line
  Index rows = 0;
  Index lost = 0;   // rows that equal the mean row and have no direction without it
  PairTally tally;  // empty (0 pairs) where fewer than two rows are left
  double mean = NAN, deviation = NAN;  // of all cosines; NaN where there are none
  MomentSource source = MomentSource::tiles;
  std::vector<double> eigenvalues;  // of U^T U, descending; on the root, where asked for

  [[nodiscard]] double epsilon() const { return mean + 2 * deviation; }
};

struct MatrixReport {
  std::string name, element;
  Index vocabulary = 0, width = 0;
  Index padding = 0;
  std::vector<Index> zero, untrained, outliers;  // rows; the last two are not among the first
  std::vector<double> norms;                     // [V less padding]
  std::vector<double> norm_edges, norm_counts;   // edges [bins + 1], equal in ln norm
  std::vector<SetStatistics> sets;
  double gram_seconds = 0, spectrum_seconds = 0, pair_seconds = 0, all_seconds = 0;
  bool in_double = false;  // how pairs were multiplied
  Index regular() const;   // rows that count and are neither untrained nor outliers
};

/// Collective; the report is the same on every rank but for eigenvalues. Throws Error: a value that
/// is not finite (refuse_value); Status::file where fewer than two rows are not zero, but of a
/// matrix that was computed here the report has no sets then.
MatrixReport analyse(const WeightMatrix& matrix, const AnalysisSettings& settings,
                     const Communicator& comm);

/// The cosine between input and output vector of each token.
struct TokenCosines {
  Index tokens = 0, skipped = 0;       // skipped: one of the two rows is zero
  double mean = NAN, deviation = NAN;  // NaN without tokens
  std::vector<double> histogram;       // [bins] over [-1, 1]
};
/// Over the rows that both have, padding aside. Collective.
TokenCosines token_cosines(const WeightMatrix& input, const WeightMatrix& output, Index count,
                           Index bins, const Communicator& comm);

}  // namespace lexikos::capacity

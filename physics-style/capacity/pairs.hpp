// Every pair i < j of a list of unit rows, once: tiles of U U^T through gemm, tallied while in
// cache into sums in double, a histogram and the extreme pairs. Never an n x n buffer.
#pragma once

#include <vector>

#include "capacity/rows.hpp"

namespace lexikos::capacity {

struct ExtremePair {
  double cosine;
  Index first, second;  // ids of rows, first < second
};

/// The n most extreme pairs that were offered; ties go to the smaller ids, so that the result does
/// not depend on the order of offering.
class ExtremePairs {
 public:
  ExtremePairs(Index most, bool largest) : most_(most), sign_(largest ? 1.0 : -1.0) {}

  /// True where a pair of this cosine, whose smaller id is at least `first`, could still enter.
  [[nodiscard]] bool may_enter(double cosine, Index first) const;
  void offer(const ExtremePair& pair);
  /// Most extreme first.
  [[nodiscard]] std::vector<ExtremePair> sorted() const;

 private:
  [[nodiscard]] bool before(const ExtremePair& a, const ExtremePair& b) const;

  Index most_;
  double sign_;
  std::vector<ExtremePair> heap_;  // the least extreme on top
};

/// What was found of one set of pairs.
struct PairTally {
  double pairs = 0;
  double shift = 0;     // the sums are about it
  double rounding = 0;  // of a cosine, about
  double sum = 0, square = 0, cube = 0;
  double smallest = 2, largest = -2;
  std::vector<double> histogram;  // [bins] over [-1, 1]; counts, exact up to 2^53
  std::vector<ExtremePair> most_positive, most_negative;

  [[nodiscard]] double mean() const { return shift + sum / pairs; }
  [[nodiscard]] double deviation() const;
  /// NaN where all cosines are the same but for rounding.
  [[nodiscard]] double skewness() const;
  /// The union of disjoint sets with the same shift.
  void merge(const PairTally& other, Index extremes);
};

/// A question about the pairs of the list: whose cosines, of which pairs.
struct PairQuestion {
  enum class Where { all, inside, outside };  // both rows among the first `inner`; not both

  Where where = Where::all;
  double shift = 0;  // near the mean
  const UnitRows* centred =
      nullptr;  // p, q, s of the same rows in the same order; null: as they are
};

/// What a bare product of two panels takes while a pass over the pairs goes on.
struct GemmSamples {
  std::vector<double> rates;  // FLOP/s
  double seconds = 0;         // spent on them: not the pass's own
};

struct PairSettings {
  Index bins = 2000;
  Index extremes = 16;                  // pairs at each end
  Index inner = 0;                      // rows of the list that form the inner set
  Index panel_bytes = Index{64} << 20;  // of one panel of rows
  GemmSamples* samples = nullptr;       // added to: one product a panel of rows, made once more
};

/// Answers all questions in one pass over the tiles, which are spread over the ranks; collective.
/// S is the type of products: float, or double for small lists. Every rank has the whole answer;
/// the same on any number of ranks but for the order of sums.
template <class S>
std::vector<PairTally> tally_pairs(const UnitRows& rows, const std::vector<PairQuestion>& questions,
                                   const PairSettings& settings, const Communicator& comm);

/// Rows of the two panels of a tile, for lists of this width.
struct TileShape {
  Index rows, columns;
};
TileShape tile_shape(Index width, Index scalar_bytes, const PairSettings& settings);

}  // namespace lexikos::capacity

#include "capacity/analysis.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "capacity/moments.hpp"
#include "data/batches/step_batch.hpp"
#include "utils/error.hpp"

namespace lexikos::capacity {
namespace {

// A raw cosine's rounding may grow by this in a centred one before that gets products of its own.
constexpr double largest_amplification = 64;

/// Which rows count, and in which order: the regular ones first.
struct Selection {
  std::vector<Index> ids;
  Index regular = 0;
  [[nodiscard]] Index size() const { return static_cast<Index>(ids.size()); }
  [[nodiscard]] bool has_subset() const { return regular >= 2 && regular < size(); }
};

Selection select_rows(const RowNorms& norms, const AnalysisSettings& settings,
                      MatrixReport& report) {
  std::vector<Index> live, trained;
  const Index rows = static_cast<Index>(norms.scaled.size());
  for (Index i = 0; i < rows; ++i) {
    if (norms.scaled[i] == 0) {
      report.zero.push_back(i);
      continue;
    }
    live.push_back(i);
    const bool known = i < static_cast<Index>(settings.train_counts.size());
    if (known && settings.train_counts[i] == 0) {
      report.untrained.push_back(i);
    } else {
      trained.push_back(i);
    }
  }
  report.outliers = outlier_rows(norms, trained, settings.outlier_z);
  Selection selection;
  std::set_difference(trained.begin(), trained.end(), report.outliers.begin(),
                      report.outliers.end(), std::back_inserter(selection.ids));
  selection.regular = selection.size();
  std::set_difference(live.begin(), live.end(), selection.ids.begin(), selection.ids.end(),
                      std::back_inserter(selection.ids));
  return selection;
}

/// Counts of norms in bins of equal width in ln norm; zero rows are left out.
void norm_histogram(Index bins, const RowNorms& norms, MatrixReport& report) {
  constexpr double most = std::numeric_limits<double>::max();
  double low = std::numeric_limits<double>::infinity(), high = -low;
  std::vector<double> logs;
  for (std::size_t i = 0; i < norms.scaled.size(); ++i) {
    if (norms.scaled[i] == 0) continue;
    logs.push_back(norms.log_norm(static_cast<Index>(i)));
    low = std::min(low, logs.back());
    high = std::max(high, logs.back());
  }
  const double step = (high - low) / static_cast<double>(bins);
  for (Index b = 0; b <= bins; ++b) {
    const double edge = b == bins ? high : low + step * static_cast<double>(b);
    report.norm_edges.push_back(std::min(std::exp(edge), most));
  }
  report.norm_counts.assign(bins, 0.0);
  for (const double log : logs) {
    const Index bin = step > 0 ? static_cast<Index>((log - low) / step) : 0;
    report.norm_counts[std::clamp<Index>(bin, 0, bins - 1)] += 1;
  }
}

/// One analysis while it is being made.
class Analysis {
 public:
  Analysis(const WeightMatrix& matrix, const AnalysisSettings& settings, const Communicator& comm)
      : matrix_(matrix), settings_(settings), comm_(comm) {}

  MatrixReport run() {
    const Kokkos::Timer timer;
    select();
    if (selection_.size() < 2) return std::move(report_);
    raw_ = UnitRows::raw(matrix_, norms_, selection_.ids);
    centred_ = UnitRows::centred(raw_, raw_.size(), norms_, comm_);
    if (selection_.has_subset()) {
      centred_regular_ = UnitRows::centred(raw_, selection_.regular, norms_, comm_);
    }
    begin_sets();
    if (matrix_.width <= settings_.gram_width) from_grams();
    const Kokkos::Timer pair_timer;
    const double n = static_cast<double>(raw_.size());
    report_.in_double =
        n * n * static_cast<double>(matrix_.width) <= static_cast<double>(settings_.double_work);
    if (report_.in_double) {
      from_pairs<double>();
    } else {
      from_pairs<float>();
    }
    report_.pair_seconds = pair_timer.seconds();
    exact_extremes();
    report_.all_seconds = timer.seconds();
    return std::move(report_);
  }

 private:
  void select() {
    report_.name = matrix_.name;
    report_.element = element_name(matrix_.element);
    report_.vocabulary = matrix_.rows;
    report_.width = matrix_.width;
    const Index used = settings_.vocabulary_size > 0
                           ? std::min(settings_.vocabulary_size, matrix_.rows)
                           : matrix_.rows;
    report_.padding = matrix_.rows - used;
    if (matrix_.width < 1) fail(Status::file, "cannot analyse '" + matrix_.name + "': D is 0");
    norms_ = measure_norms(matrix_, used, comm_);
    for (Index i = 0; i < used; ++i) report_.norms.push_back(norms_.norm(i));
    selection_ = select_rows(norms_, settings_, report_);
    if (selection_.size() < 2) {
      if (matrix_.computed) return;
      fail(Status::file, "cannot analyse '" + matrix_.name +
                             "': " + std::to_string(selection_.size()) + " of its " +
                             std::to_string(matrix_.rows) +
                             " rows are neither zero nor padding; two are needed for a pair");
    }
    norm_histogram(settings_.norm_bins, norms_, report_);
  }

  SetStatistics& set(const std::string& name) {
    return *std::find_if(report_.sets.begin(), report_.sets.end(),
                         [&](const SetStatistics& s) { return s.name == name; });
  }

  void add_set(const std::string& name, const std::string& meaning, const UnitRows& rows,
               Index count) {
    SetStatistics s;
    s.name = name;
    s.meaning = meaning;
    s.rows = count;
    s.lost = rows.lost();
    if (count >= 2) s.mean = mean_cosine(rows.sum(count, comm_), count);
    report_.sets.push_back(std::move(s));
  }

  void begin_sets() {
    add_set("raw", "all rows that are not zero or padding", raw_, raw_.size());
    add_set("centred", "the same without their mean row", centred_, centred_.size());
    if (!selection_.has_subset()) return;
    add_set("raw_regular", "without untrained rows and outliers of norm", raw_, selection_.regular);
    add_set("centred_regular", "the same without their mean row", centred_regular_,
            centred_regular_.size());
  }

  void take_moments(GramMoments& gram, SetStatistics& s) {
    const PairMoments m = gram.moments(comm_);
    s.deviation = m.deviation;
    s.source = MomentSource::gram;
  }

  void take_spectrum(GramMoments& gram, SetStatistics& s) {
    if (matrix_.width > settings_.spectrum_width) return;
    const Kokkos::Timer timer;
    s.eigenvalues = gram.eigenvalues(comm_);
    report_.spectrum_seconds += timer.seconds();
  }

  std::vector<double> mean_row(const UnitRows& rows) {
    std::vector<double> mean = rows.sum(rows.size(), comm_);
    for (double& x : mean) x /= static_cast<double>(rows.size());
    return mean;
  }

  /// The D x D matrices one after the other: only one is in memory at a time.
  void from_grams() {
    const Kokkos::Timer timer;
    {
      GramMoments gram(mean_row(raw_));
      if (selection_.has_subset()) {
        gram.add(raw_, 0, selection_.regular, comm_);
        take_moments(gram, set("raw_regular"));
        gram.add(raw_, selection_.regular, raw_.size(), comm_);
      } else {
        gram.add(raw_, 0, raw_.size(), comm_);
      }
      take_moments(gram, set("raw"));
      take_spectrum(gram, set("raw"));
    }
    if (centred_.size() >= 2) {
      GramMoments gram(mean_row(centred_));
      gram.add(centred_, 0, centred_.size(), comm_);
      take_moments(gram, set("centred"));
      take_spectrum(gram, set("centred"));
    }
    if (centred_regular_.size() >= 2) {
      GramMoments gram(mean_row(centred_regular_));
      gram.add(centred_regular_, 0, centred_regular_.size(), comm_);
      take_moments(gram, set("centred_regular"));
    }
    report_.gram_seconds = timer.seconds() - report_.spectrum_seconds;
  }

  /// The centred cosines follow from the raw ones where no row was lost and rounding stays small;
  /// otherwise they get a pass of their own.
  [[nodiscard]] bool follows(const UnitRows& rows) const {
    return rows.lost() == 0 && rows.amplification() <= largest_amplification;
  }

  template <class S>
  void own_pass(const UnitRows& rows, SetStatistics& s) {
    if (rows.size() < 2) return;
    PairSettings pairs = settings_.pairs;
    pairs.inner = 0;
    accept(tally_pairs<S>(
               rows, {{.where = PairQuestion::Where::all, .shift = s.mean, .centred = nullptr}},
               pairs, comm_)[0],
           s);
  }

  template <class S>
  void from_pairs() {
    using Where = PairQuestion::Where;
    const bool subset = selection_.has_subset();
    PairSettings pairs = settings_.pairs;
    pairs.inner = subset ? selection_.regular : 0;
    std::vector<PairQuestion> questions;
    const double raw_mean = set("raw").mean;
    questions.push_back({subset ? Where::outside : Where::all, raw_mean, nullptr});
    if (subset) questions.push_back({Where::inside, raw_mean, nullptr});
    const bool with_centred = follows(centred_);
    if (with_centred) questions.push_back({Where::all, set("centred").mean, &centred_});
    const bool with_regular = subset && follows(centred_regular_);
    if (with_regular) {
      questions.push_back({Where::inside, set("centred_regular").mean, &centred_regular_});
    }
    std::vector<PairTally> tallies = tally_pairs<S>(raw_, questions, pairs, comm_);
    std::size_t next = 0;
    PairTally all = std::move(tallies[next++]);
    if (subset) {
      all.merge(tallies[next], settings_.pairs.extremes);
      accept(std::move(tallies[next++]), set("raw_regular"));
    }
    accept(std::move(all), set("raw"));
    if (with_centred) {
      accept(std::move(tallies[next++]), set("centred"));
    } else {
      own_pass<S>(centred_, set("centred"));
    }
    if (with_regular) {
      accept(std::move(tallies[next++]), set("centred_regular"));
    } else if (subset) {
      own_pass<S>(centred_regular_, set("centred_regular"));
    }
  }

  void accept(PairTally tally, SetStatistics& s) {
    if (report_.in_double) {
      s.source = MomentSource::pairs;
      s.deviation = tally.deviation();
    } else if (s.source != MomentSource::gram) {
      s.deviation = tally.deviation();
    }
    s.tally = std::move(tally);
  }

  /// The cosines of the extreme pairs again, in double.
  void exact_extremes() {
    for (SetStatistics& s : report_.sets) {
      const bool centred = s.name.rfind("centred", 0) == 0;
      const UnitRows& rows = s.name == "centred" ? centred_ : centred ? centred_regular_ : raw_;
      std::vector<Index> place(static_cast<std::size_t>(matrix_.rows), 0);
      for (Index k = 0; k < rows.size(); ++k) place[rows.ids()[k]] = k;
      for (auto* list : {&s.tally.most_positive, &s.tally.most_negative}) {
        for (ExtremePair& pair : *list) {
          pair.cosine = rows.cosine(place[pair.first], place[pair.second]);
        }
      }
    }
  }

  const WeightMatrix& matrix_;
  const AnalysisSettings& settings_;
  const Communicator& comm_;
  RowNorms norms_;
  Selection selection_;
  UnitRows raw_, centred_, centred_regular_;
  MatrixReport report_;
};

}  // namespace

AnalysisSettings AnalysisSettings::read(const DeckTable& table) {
  AnalysisSettings s;
  s.pairs.bins = table.integer({.name = "bins", .doc = "of the histogram of cosines over [-1, 1]"},
                               s.pairs.bins, Between(1, 1 << 20));
  s.pairs.extremes = table.integer(
      {.name = "extremes", .doc = "most and least similar pairs that are listed, each"},
      s.pairs.extremes, Between(0, 100000));
  s.vocabulary_size =
      table.integer({.name = "vocabulary_size",
                     .doc = "of the tokenizer; rows past it are padding; 0: unknown",
                     .unit = "tokens"},
                    s.vocabulary_size, Between(0, 1e12));
  s.outlier_z = table.real(
      {.name = "outlier_z",
       .doc = "rows further from the median of ln norm are outliers, in units of 1.4826 MAD"},
      s.outlier_z, Above(0) && AtMost(1e6));
  s.norm_bins = table.integer({.name = "norm_bins", .doc = "of the histogram of ln norm"},
                              s.norm_bins, Between(1, 1 << 20));
  s.gram_width = table.integer(
      {.name = "gram_width",
       .doc = "largest D with a D x D Gram matrix in double: sigma to full precision"},
      s.gram_width, Between(0, 1 << 20));
  s.spectrum_width = table.integer(
      {.name = "spectrum_width",
       .doc =
           "largest D, up to gram_width, with eigenvalues and effective ranks; time grows as D^3"},
      s.spectrum_width, Between(0, 1 << 20));
  return s;
}

const char* moment_source_text(MomentSource source) {
  switch (source) {
    case MomentSource::pairs:
      return "all pairs in double";
    case MomentSource::gram:
      return "D x D Gram matrix in double";
    default:
      return "all pairs in fp32, summed in double";
  }
}

Index MatrixReport::regular() const {
  const auto size = [](const std::vector<Index>& v) { return static_cast<Index>(v.size()); };
  return vocabulary - padding - size(zero) - size(untrained) - size(outliers);
}

MatrixReport analyse(const WeightMatrix& matrix, const AnalysisSettings& settings,
                     const Communicator& comm) {
  return Analysis(matrix, settings, comm).run();
}

TokenCosines token_cosines(const WeightMatrix& input, const WeightMatrix& output, Index count,
                           Index bins, const Communicator& comm) {
  const Share share = share_of(count, comm.rank(), comm.size());
  std::vector<double> values(static_cast<std::size_t>(count), 0.0);
  std::vector<double> used(static_cast<std::size_t>(count), 0.0);
  std::vector<double> a(static_cast<std::size_t>(input.width)), b(a.size());
  for (Index i = share.begin; i < share.end; ++i) {
    input.read(i, a.data());
    output.read(i, b.data());
    double most_a = 0, most_b = 0;
    for (std::size_t d = 0; d < a.size(); ++d) {
      most_a = std::max(most_a, std::abs(a[d]));
      most_b = std::max(most_b, std::abs(b[d]));
    }
    if (most_a == 0 || most_b == 0) continue;
    double ab = 0, aa = 0, bb = 0;
    for (std::size_t d = 0; d < a.size(); ++d) {
      const double x = a[d] / most_a, y = b[d] / most_b;
      ab += x * y;
      aa += x * x;
      bb += y * y;
    }
    values[i] = ab / std::sqrt(aa * bb);
    used[i] = 1;
  }
  comm.sum(values);
  comm.sum(used);
  TokenCosines result;
  result.histogram.assign(bins, 0.0);
  double sum = 0, square = 0;
  for (Index i = 0; i < count; ++i) {
    if (used[i] == 0) continue;
    ++result.tokens;
    sum += values[i];
    const double place = (std::clamp(values[i], -1.0, 1.0) + 1) * static_cast<double>(bins) / 2;
    result.histogram[std::min(static_cast<Index>(place), bins - 1)] += 1;
  }
  result.skipped = count - result.tokens;
  if (result.tokens == 0) return result;  // which defines neither mean nor deviation
  result.mean = sum / static_cast<double>(result.tokens);
  for (Index i = 0; i < count; ++i) {
    if (used[i] > 0) square += (values[i] - result.mean) * (values[i] - result.mean);
  }
  result.deviation = std::sqrt(square / static_cast<double>(result.tokens));
  return result;
}

}  // namespace lexikos::capacity

// Geometry of embedding matrices against plain loops over pairs in double, closed forms, and the
// published capacities. Runs on several ranks: every rank checks the whole answer.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "capacity/analysis.hpp"
#include "capacity/moments.hpp"
#include "harness/catch.hpp"
#include "harness/support.hpp"
#include "kernels/spectrum.hpp"
#include "utils/error.hpp"

using namespace lexikos;
using namespace lexikos::test;
using namespace lexikos::capacity;

namespace {

Communicator world() { return Communicator(MPI_COMM_WORLD); }

/// A matrix and the memory it stands in.
struct Held {
  std::vector<float> f32;
  std::vector<double> f64;
  std::vector<std::uint16_t> bf16;
  Doubles values;  // what is stored, in double
  WeightMatrix matrix;
};

enum class Stored { f64, f32, bf16 };

Held hold(const Doubles& values, Index rows, Index width, Stored stored = Stored::f32) {
  Held held;
  held.values = values;
  const void* data = nullptr;
  Element element = Element::f64;
  if (stored == Stored::f64) {
    held.f64 = values;
    data = held.f64.data();
  } else {
    for (double& x : held.values) {
      float narrow = static_cast<float>(x);
      if (stored == Stored::bf16) {
        std::uint32_t bits;
        std::memcpy(&bits, &narrow, sizeof bits);
        bits &= 0xFFFF0000u;  // towards zero: any bf16 number will do
        held.bf16.push_back(static_cast<std::uint16_t>(bits >> 16));
        std::memcpy(&narrow, &bits, sizeof bits);
      }
      x = narrow;
      held.f32.push_back(narrow);
    }
    element = stored == Stored::bf16 ? Element::bf16 : Element::f32;
    data = stored == Stored::bf16 ? static_cast<const void*>(held.bf16.data())
                                  : static_cast<const void*>(held.f32.data());
  }
  held.matrix = {"test", rows, width, element, static_cast<const std::byte*>(data), nullptr};
  return held;
}

/// All cosines i < j by the definition, with their ids.
std::vector<ExtremePair> plain_cosines(const Doubles& values, Index rows, Index width,
                                       bool centred) {
  Doubles x = values;
  for (Index d = 0; d < width && centred; ++d) {
    double mean = 0;
    for (Index i = 0; i < rows; ++i) mean += x[i * width + d] / static_cast<double>(rows);
    for (Index i = 0; i < rows; ++i) x[i * width + d] -= mean;
  }
  Doubles length(rows);
  for (Index i = 0; i < rows; ++i) {
    double square = 0;
    for (Index d = 0; d < width; ++d) square += x[i * width + d] * x[i * width + d];
    length[i] = std::sqrt(square);
  }
  std::vector<ExtremePair> pairs;
  for (Index i = 0; i < rows; ++i) {
    for (Index j = i + 1; j < rows; ++j) {
      double product = 0;
      for (Index d = 0; d < width; ++d) product += x[i * width + d] * x[j * width + d];
      pairs.push_back({product / length[i] / length[j], i, j});
    }
  }
  return pairs;
}

struct Plain {
  double mean = 0, deviation = 0, skewness = 0;
  Doubles histogram;
};

/// Sums in long double, so that bounds are those of what is tested.
Plain plain_statistics(const std::vector<ExtremePair>& pairs, Index bins) {
  Plain plain;
  const long double n = static_cast<long double>(pairs.size());
  long double mean = 0, square = 0, cube = 0;
  for (const auto& pair : pairs) mean += pair.cosine / n;
  plain.histogram.assign(bins, 0.0);
  for (const auto& pair : pairs) {
    const long double x = pair.cosine - mean;
    square += x * x / n;
    cube += x * x * x / n;
    const double c = std::clamp(pair.cosine, -1.0, 1.0);
    plain.histogram[std::min<Index>(static_cast<Index>((c + 1) * double(bins) / 2), bins - 1)] += 1;
  }
  plain.mean = static_cast<double>(mean);
  plain.deviation = static_cast<double>(std::sqrt(square));
  plain.skewness = static_cast<double>(cube / (square * std::sqrt(square)));
  return plain;
}

AnalysisSettings settings_of(bool in_double) {
  AnalysisSettings s;
  s.double_work = in_double ? Index{1} << 60 : 0;
  s.pairs.bins = 200;
  s.pairs.extremes = 7;
  return s;
}

const SetStatistics& set_of(const MatrixReport& report, const std::string& name) {
  for (const SetStatistics& s : report.sets) {
    if (s.name == name) return s;
  }
  FAIL("no set " << name);
  return report.sets.front();
}

double histogram_moved(const Doubles& a, const Doubles& b) {
  if (a.size() != b.size()) return infinity;
  double moved = 0;
  for (std::size_t k = 0; k < a.size(); ++k) moved += std::abs(a[k] - b[k]) / 2;
  return moved;
}

/// What cosines are made of, 1 where nothing cancels. With mu the mean cosine, rows without the
/// mean row are sqrt(1 - mu) as long; in float their cosines come from those of whole rows and the
/// mean row's, over that length squared, unless they have products of their own.
struct Sizes {
  double in_double = 1, in_float = 1;
};

Sizes centred_sizes(const MatrixReport& report) {
  const double mu = std::max(report.sets[0].mean, 0.0);
  return {1 / std::sqrt(1 - mu), (1 + 2 * mu) / (1 - mu)};
}

/// What a mean over pairs may be off by in double, and a variance: cosines of `width` terms, sums
/// over rows.
double mean_error(Index rows, Index width, double size = 1) {
  return rounding_of_sums<double>(rows + width, size);
}

/// What a deviation may be off by whose square is off by `variance`.
double deviation_error(double variance, double deviation) {
  return std::min(std::sqrt(variance), variance / deviation);
}

/// One set against the plain loop. Cosines in S are of sums of `width` terms; in fp32 a row's
/// errors are its own, so over all pairs of n rows they come to 1 / sqrt(n) of one.
void check_set(const SetStatistics& s, const std::vector<ExtremePair>& pairs, bool in_double,
               Index width, const Sizes& sizes = {}) {
  const Index bins = static_cast<Index>(s.tally.histogram.size());
  const Plain plain = plain_statistics(pairs, bins);
  INFO(s.name << (in_double ? " in double" : " in float") << ", " << s.rows << " x " << width);
  CHECK(s.tally.pairs == static_cast<double>(pairs.size()));
  const double exact = mean_error(s.rows, width, sizes.in_double);
  CHECK(std::abs(s.mean - plain.mean) < exact);
  CHECK(std::abs(s.deviation - plain.deviation) < deviation_error(exact, plain.deviation));

  const double cosine = in_double ? 0 : likely_rounding<float>(width, sizes.in_float);
  const double mean = exact + cosine / std::sqrt(double(s.rows));
  CHECK(std::abs(s.tally.mean() - plain.mean) < mean);
  CHECK(std::abs(s.tally.deviation() - plain.deviation) < mean + exact / plain.deviation);
  // Of cubes over the deviation's: three times the relative error of each.
  const double skewness = 3 * (1 + std::abs(plain.skewness)) * mean / plain.deviation +
                          3 * exact / std::pow(plain.deviation, 3);
  CHECK(std::abs(s.tally.skewness() - plain.skewness) < skewness);
  // A pair moves over a bin's edge where it is nearer than its error; one may do so by chance.
  const double moved = cosine * double(bins) / 2 * static_cast<double>(pairs.size());
  CHECK(histogram_moved(s.tally.histogram, plain.histogram) <= (in_double ? 0 : 1 + moved));
  std::vector<ExtremePair> sorted = pairs;
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.cosine > b.cosine; });
  for (const bool high : {true, false}) {
    const auto& found = high ? s.tally.most_positive : s.tally.most_negative;
    REQUIRE(found.size() == std::min<std::size_t>(7, pairs.size()));
    for (std::size_t k = 0; k < found.size(); ++k) {
      const ExtremePair& wanted = high ? sorted[k] : sorted[sorted.size() - 1 - k];
      CHECK(std::abs(found[k].cosine - wanted.cosine) <
            rounding_of_sums<double>(width, sizes.in_double));
      CHECK(found[k].first == wanted.first);
      CHECK(found[k].second == wanted.second);
    }
  }
}

MatrixReport analysed(const Held& held, const AnalysisSettings& settings) {
  return analyse(held.matrix, settings, world());
}

Doubles one_row_per(const std::vector<Doubles>& rows) {
  Doubles all;
  for (const Doubles& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

}  // namespace

TEST_CASE("random matrices: the plain loop over pairs in double", "[capacity]") {
  struct Case {
    Index rows, width;
    double mean;
    Stored stored;
  };
  const std::vector<Case> cases = {{2, 1, 0, Stored::f32},     {3, 5, 0.5, Stored::f64},
                                   {37, 19, 0, Stored::f32},   {61, 300, 0.2, Stored::bf16},
                                   {513, 7, 0, Stored::f32},   {1030, 33, 0.4, Stored::bf16},
                                   {1537, 24, 0, Stored::f32}, {700, 129, 1.0, Stored::f32}};
  for (const Case& c : cases) {
    Random random(7 + c.rows);
    const Held held =
        hold(random.normals(c.rows * c.width, 1.0, c.mean), c.rows, c.width, c.stored);
    for (const bool in_double : {true, false}) {
      INFO(c.rows << " x " << c.width);
      const MatrixReport report = analysed(held, settings_of(in_double));
      CHECK(report.in_double == in_double);
      REQUIRE(report.sets.size() == 2);
      if (c.rows < 3) continue;  // two centred rows are opposite: no spread to compare
      check_set(report.sets[0], plain_cosines(held.values, c.rows, c.width, false), in_double,
                c.width);
      check_set(report.sets[1], plain_cosines(held.values, c.rows, c.width, true), in_double,
                c.width, centred_sizes(report));
    }
  }
}

TEST_CASE("small panels: many tiles, the same pairs once each", "[capacity]") {
  const Index rows = 2100, width = 11;
  Random random(5);
  const Held held = hold(random.normals(rows * width), rows, width);
  AnalysisSettings settings = settings_of(false);
  settings.pairs.panel_bytes = 1;  // the smallest panels there are
  const MatrixReport report = analysed(held, settings);
  check_set(report.sets[0], plain_cosines(held.values, rows, width, false), false, width);
}

TEST_CASE("untrained rows, outliers of norm, padding and zero rows", "[capacity]") {
  const Index rows = 640, width = 13;
  Random random(11);
  Doubles values = random.normals(rows * width, 1.0, 0.3);
  const auto scale_row = [&](Index row, double factor) {
    for (Index d = 0; d < width; ++d) values[row * width + d] *= factor;
  };
  scale_row(5, 0.0);
  scale_row(17, 1e4);
  scale_row(18, 1e-4);
  for (Index i = 630; i < rows; ++i) scale_row(i, 1e6);  // padding: must not show anywhere
  const Held held = hold(values, rows, width);
  AnalysisSettings settings = settings_of(GENERATE(true, false));
  settings.vocabulary_size = 630;
  settings.train_counts.assign(630, 3);
  for (const Index i : {0, 3, 99, 629}) settings.train_counts[i] = 0;
  const MatrixReport report = analysed(held, settings);
  CHECK(report.padding == 10);
  CHECK(report.zero == std::vector<Index>{5});
  CHECK(report.untrained == std::vector<Index>{0, 3, 99, 629});
  CHECK(report.outliers == std::vector<Index>{17, 18});
  CHECK(report.regular() == 623);
  REQUIRE(report.sets.size() == 4);
  // The plain loop over the rows of each set, by their ids.
  for (const bool regular : {false, true}) {
    std::vector<Index> ids;
    Doubles chosen;
    for (Index i = 0; i < 630; ++i) {
      const bool odd = i == 17 || i == 18 || settings.train_counts[i] == 0;
      if (i == 5 || (regular && odd)) continue;
      ids.push_back(i);
      chosen.insert(chosen.end(), held.values.begin() + i * width,
                    held.values.begin() + (i + 1) * width);
    }
    const Index n = static_cast<Index>(ids.size());
    for (const bool centred : {false, true}) {
      std::vector<ExtremePair> pairs = plain_cosines(chosen, n, width, centred);
      for (ExtremePair& pair : pairs) pair = {pair.cosine, ids[pair.first], ids[pair.second]};
      const std::string name =
          std::string(centred ? "centred" : "raw") + (regular ? "_regular" : "");
      const SetStatistics& s = set_of(report, name);
      CHECK(s.rows == n);
      // Row 17 is 10,000 times the others: the mean is almost its own direction, and all other
      // centred rows nearly coincide; their cosines lose digits in any arithmetic.
      if (centred && !regular) {
        CHECK(std::abs(s.mean - plain_statistics(pairs, 200).mean) < mean_error(n, width));
        continue;
      }
      check_set(s, pairs, report.in_double, width, centred ? centred_sizes(report) : Sizes());
    }
  }
  double in_norms = 0;
  for (const double count : report.norm_counts) in_norms += count;
  CHECK(in_norms == 629);
}

TEST_CASE("closed forms", "[capacity]") {
  const bool in_double = GENERATE(true, false);
  const AnalysisSettings settings = settings_of(in_double);
  // Of a deviation that is 0: pairs in double give it as large as their errors, the Gram matrix the
  // root of a variance's error.
  const auto nothing = [&](Index rows, Index width) {
    const double error = mean_error(rows, width);
    return in_double ? error : std::sqrt(error);
  };

  SECTION("orthonormal rows, tiled: one pair in n - 1 coincides") {
    const Index width = 16, copies = 3, rows = width * copies;
    Doubles values(rows * width, 0.0);
    for (Index i = 0; i < rows; ++i) values[i * width + i % width] = 2.5;
    const MatrixReport report = analysed(hold(values, rows, width), settings);
    const double same = double(copies - 1) / double(rows - 1);
    const double error = mean_error(rows, width), deviation = std::sqrt(same * (1 - same));
    CHECK(std::abs(report.sets[0].mean - same) < error);
    CHECK(std::abs(report.sets[0].deviation - deviation) < deviation_error(error, deviation));
    CHECK(report.sets[0].tally.largest == 1.0);
    CHECK(report.sets[0].tally.smallest == 0.0);
  }
  SECTION("orthonormal rows") {
    const Index n = 40;
    Doubles values(n * n, 0.0);
    for (Index i = 0; i < n; ++i) values[i * n + i] = 1.0 + double(i);
    const MatrixReport report = analysed(hold(values, n, n), settings);
    const double error = mean_error(n, n);
    CHECK(std::abs(report.sets[0].mean) < error);
    CHECK(report.sets[0].deviation < nothing(n, n));
    const double each = -1.0 / double(n - 1);  // nothing but unit rows: a simplex without the mean
    if (world().is_root()) {
      for (const double x : report.sets[0].eigenvalues) CHECK(std::abs(x - 1) < error);
      CHECK(effective_rank(report.sets[0].eigenvalues) == Approx(double(n)).epsilon(error));
    }
    Doubles unit(n * n, 0.0);
    for (Index i = 0; i < n; ++i) unit[i * n + i] = 1.0;
    const MatrixReport simplex = analysed(hold(unit, n, n), settings);
    CHECK(std::abs(simplex.sets[1].mean - each) < error);
    CHECK(simplex.sets[1].deviation < nothing(n, n));
    CHECK(capacity_class(simplex.sets[1].epsilon()) == 2);
  }
  SECTION("duplicates: one direction, and none without the mean row") {
    const Index rows = 600, width = 9;
    Random random(3);
    const Doubles row = random.normals(width);
    Doubles values;
    for (Index i = 0; i < rows; ++i) values.insert(values.end(), row.begin(), row.end());
    const MatrixReport report = analysed(hold(values, rows, width, Stored::bf16), settings);
    CHECK(std::abs(report.sets[0].mean - 1) < mean_error(rows, width));
    CHECK(report.sets[0].deviation < std::sqrt(mean_error(rows, width)));
    CHECK(report.sets[1].rows == 0);
    CHECK(report.sets[1].lost == rows);
    CHECK(report.sets[1].tally.pairs == 0);
  }
  SECTION("bf16 rows of ones, as many as a naive sum in bf16 would lose") {
    const Index rows = 520, width = 1024;  // in bf16 a running sum of ones stops at 256
    AnalysisSettings no_spectrum = settings;
    no_spectrum.spectrum_width = 0;
    const MatrixReport report =
        analysed(hold(Doubles(rows * width, 1.0), rows, width, Stored::bf16), no_spectrum);
    CHECK(report.norms[519] == 32.0);
    CHECK(report.sets[0].eigenvalues.empty());
    CHECK(std::abs(report.sets[0].mean - 1) < mean_error(rows, width));
    CHECK(capacity_class(report.sets[0].epsilon()) == 1);
  }
  SECTION("codes of +-1 in 16 bits, all of a subset: epsilon is 2 / sqrt(16)") {
    const Index bits = 16, rows = 2048;
    Doubles values;
    Random random(9);
    std::vector<std::uint32_t> codes;
    while (static_cast<Index>(codes.size()) < rows) {
      const auto code = static_cast<std::uint32_t>(random.below(1 << bits));
      if (std::find(codes.begin(), codes.end(), code) == codes.end()) codes.push_back(code);
    }
    for (const std::uint32_t code : codes) {
      for (Index b = 0; b < bits; ++b) values.push_back((code >> b & 1) != 0 ? 1.0 : -1.0);
    }
    const MatrixReport report = analysed(hold(values, rows, bits), settings);
    CHECK(report.sets[0].epsilon() == Approx(0.5).margin(0.01));
    CHECK(report.outliers.empty());
  }
  SECTION("rank 3") {
    const Index rows = 400, width = 50;
    Random random(4);
    const Doubles base = random.normals(3 * width), weights = random.normals(3 * rows);
    Doubles values(rows * width, 0.0);
    for (Index i = 0; i < rows; ++i) {
      for (Index k = 0; k < 3; ++k) {
        for (Index d = 0; d < width; ++d) {
          values[i * width + d] += weights[3 * i + k] * base[k * width + d];
        }
      }
    }
    const MatrixReport report = analysed(hold(values, rows, width, Stored::f64), settings);
    if (!world().is_root()) return;
    const Doubles& spectrum = report.sets[0].eigenvalues;
    REQUIRE(spectrum.size() == static_cast<std::size_t>(width));
    CHECK(spectrum[2] > 1.0);
    CHECK(std::abs(spectrum[3]) < rounding_of_sums<double>(rows + width, spectrum[0]));
    CHECK(effective_rank(spectrum) < 3.0);
    CHECK(effective_rank(spectrum) > 2.5);
    CHECK(participation_ratio(spectrum) < 3.0);
  }
  SECTION("norms of 1e-30 and 1e30: directions count, not lengths") {
    const Index rows = 30, width = 8;
    Random random(6);
    Doubles values = random.normals(rows * width);
    const std::vector<ExtremePair> pairs = plain_cosines(values, rows, width, false);
    for (Index i = 0; i < rows; ++i) {
      for (Index d = 0; d < width; ++d) values[i * width + d] *= i % 2 == 0 ? 1e-30 : 1e30;
    }
    const MatrixReport report = analysed(hold(values, rows, width, Stored::f64), settings);
    const Plain plain = plain_statistics(pairs, 200);
    const double error = mean_error(rows, width);
    CHECK(std::abs(report.sets[0].mean - plain.mean) < error);
    CHECK(std::abs(report.sets[0].deviation - plain.deviation) <
          deviation_error(error, plain.deviation));
    CHECK(std::isfinite(report.sets[1].mean));
    for (double& x : values) x = std::ldexp(x, x == 0 ? 0 : std::abs(x) > 1 ? 900 : -900);
    const MatrixReport wider = analysed(hold(values, rows, width, Stored::f64), settings);
    CHECK(std::abs(wider.sets[0].mean - plain.mean) < error);
    CHECK(wider.zero.empty());
  }
}

TEST_CASE("a large common component: centred pairs get products of their own", "[capacity]") {
  const Index rows = 700, width = 21;
  Random random(13);
  const Held held = hold(random.normals(rows * width, 1.0, 60.0), rows, width, Stored::f64);
  const MatrixReport report = analysed(held, settings_of(false));
  CHECK(report.sets[0].mean > 0.999);
  check_set(report.sets[1], plain_cosines(held.values, rows, width, true), false, width,
            {.in_double = centred_sizes(report).in_double});
}

TEST_CASE("what is refused", "[capacity]") {
  const AnalysisSettings settings = settings_of(true);
  const auto error_of = [&](const Held& held) -> std::string {
    try {
      analysed(held, settings);
    } catch (const Error& error) {
      CHECK(error.status() == Status::file);
      return error.what();
    }
    return "";
  };
  Random random(2);
  Doubles values = random.normals(50 * 4);
  SECTION("a NaN, with the number of its row; the first of several") {
    values[37 * 4 + 2] = not_a_number;
    values[44 * 4] = infinity;
    CHECK(error_of(hold(values, 50, 4)).find("row 37, column 2 is nan") != std::string::npos);
  }
  SECTION("an infinity in bf16") {
    values[3] = -infinity;
    CHECK(error_of(hold(values, 50, 4, Stored::bf16)).find("row 0, column 3 is -inf") !=
          std::string::npos);
  }
  SECTION("fewer than two rows") {
    CHECK(error_of(hold({1, 2, 3, 4}, 1, 4)).find("two are needed") != std::string::npos);
    CHECK(error_of(hold({}, 0, 4)).find("two are needed") != std::string::npos);
    CHECK(error_of(hold(one_row_per({{0, 0}, {1, 2}, {0, 0}}), 3, 2)).find("1 of its 3 rows") !=
          std::string::npos);
  }
}

TEST_CASE("published capacities to the printed digits", "[capacity]") {
  const Law law;
  const auto fitted = [&](double d, double eps) {
    return capacity_text(log_capacity_fitted(d, eps, law), Rounding::up);
  };
  struct Published {
    double d, epsilon;
    double k;
    double unit;  // of its last printed digit
  };
  // The paper worked with more digits of epsilon than it prints.
  const Published table[] = {{4096, .0645, 3.99e7, 1e5},  {5120, .06766, 5.11e8, 1e6},
                             {2560, .05497, 4.57e5, 1e3}, {16384, .04813, 1.22e11, 1e9},
                             {4096, .07019, 1.33e8, 1e6}, {2048, .06329, 4.81e5, 1e3},
                             {7168, .05917, 1.16e9, 1e7}, {4096, .04874, 1.77e6, 1e4}};
  for (const Published& p : table) {
    INFO(p.d << " " << p.epsilon);
    // The interval that the rounded epsilon stands for must reach the interval of the rounded k.
    const double low = std::exp(log_capacity_fitted(p.d, p.epsilon - 5e-6, law));
    const double high = std::exp(log_capacity_fitted(p.d, p.epsilon + 5e-6, law));
    CHECK(low <= p.k + p.unit / 2);
    CHECK(high >= p.k - p.unit / 2);
    CHECK(high / low < 1.005);  // the intervals tell something
  }
  CHECK(fitted(4096, .0645) == "3.99e+07");
  CHECK(fitted(5120, .06766) == "5.11e+08");
  CHECK(fitted(16384, .04813) == "1.22e+11");
  CHECK(fitted(4096, .07019) == "1.33e+08");
  CHECK(fitted(4096, .04874) == "1.77e+06");
  CHECK(capacity_text(log_capacity_adjusted(4096, .06451, law)) == "2.17e+09");
  CHECK(capacity_text(log_capacity_jl(4096, .0645, law.jl_random)) == "277");
  CHECK(capacity_text(log_capacity_jl(4096, 0.0, law.jl_textbook)) == "1");
  CHECK(capacity_text(log_capacity_adjusted(4096, -0.3, law)) == "4096");
  // Past the range of double: never infinity.
  CHECK(capacity_text(log_capacity_jl(1e5, 0.9, 8.0)) == "10^4397.23");
  CHECK(fitted(16384, 1.0).rfind("10^", 0) == 0);
}

TEST_CASE("classes of epsilon", "[capacity]") {
  CHECK(capacity_class(0.2000001) == 1);
  CHECK(capacity_class(0.2) == 0);
  CHECK(capacity_class(0.1) == 0);
  CHECK(capacity_class(0.0999999) == 2);
}

TEST_CASE("eigenvalues of symmetric matrices", "[capacity]") {
  SECTION("the second-difference matrix has 2 - 2 cos(pi k / (n + 1))") {
    for (const Index n : {1, 2, 3, 31, 33, 100, 257}) {
      Doubles a(n * n, 0.0);
      for (Index i = 0; i < n; ++i) {
        a[i * n + i] = 2;
        if (i + 1 < n) a[i * n + i + 1] = a[(i + 1) * n + i] = -1;
      }
      const Doubles values = symmetric_eigenvalues(a.data(), n);
      REQUIRE(values.size() == static_cast<std::size_t>(n));
      for (Index k = 1; k <= n; ++k) {
        const double exact = 2 - 2 * std::cos(M_PI * double(k) / double(n + 1));
        CHECK(std::abs(values[k - 1] - exact) < rounding_of_sums<double>(n, 4));
      }
    }
  }
  SECTION("a full matrix with known eigenvalues: two reflections around a diagonal") {
    const Index n = 150;
    Random random(8);
    Doubles a(n * n, 0.0);
    for (Index i = 0; i < n; ++i) a[i * n + i] = i < 40 ? 0.0 : double(i * i);  // a cluster too
    for (int turn = 0; turn < 2; ++turn) {
      Doubles v = random.normals(n);
      const double length = norm(v);
      for (double& x : v) x /= length;
      for (const bool by_rows : {true, false}) {
        for (Index i = 0; i < n; ++i) {
          double along = 0;
          for (Index j = 0; j < n; ++j) along += v[j] * a[by_rows ? i * n + j : j * n + i];
          for (Index j = 0; j < n; ++j) a[by_rows ? i * n + j : j * n + i] -= 2 * along * v[j];
        }
      }
    }
    const Doubles values = symmetric_eigenvalues(a.data(), n);
    // The four products above, each of n terms, and the solver's own.
    const double bound = 5 * rounding_of_sums<double>(n, double(n * n));
    for (Index i = 0; i < n; ++i) {
      const double exact = i < 40 ? 0.0 : double(i * i);
      CHECK(std::abs(values[i] - exact) < bound);
    }
  }
  SECTION("equal elements of any size: columns of rounding errors, ever smaller, are nothing") {
    for (const double each : {1.0, 0.1, 1e-300, 1e300, 5e-324}) {
      for (const Index n : {2, 37, 100}) {
        INFO(each << ", " << n);
        Doubles a(n * n, each);
        const Doubles values = symmetric_eigenvalues(a.data(), n);
        const double whole = each * double(n), limit = rounding_of_sums<double>(n, whole);
        CHECK(std::abs(values[n - 1] - whole) <= limit);
        for (Index i = 0; i + 1 < n; ++i) CHECK(std::abs(values[i]) <= limit);
      }
    }
  }
  SECTION("couplings too small to be squared") {
    Doubles a = {1, 1e-300, 1e-300, 1e-300, 2, 0, 1e-300, 0, 3};
    CHECK(symmetric_eigenvalues(a.data(), 3) == Doubles{1, 2, 3});
  }
  SECTION("what is not finite") {
    for (const double bad : {not_a_number, infinity}) {
      Doubles a = {1, 0, 0, bad};
      CHECK_THROWS_AS(symmetric_eigenvalues(a.data(), 2), Error);
    }
  }
  SECTION("zero and one by one") {
    Doubles a = {4.0};
    CHECK(symmetric_eigenvalues(a.data(), 1) == Doubles{4.0});
    Doubles zero(25, 0.0);
    CHECK(symmetric_eigenvalues(zero.data(), 5) == Doubles(5, 0.0));
  }
}

TEST_CASE("a matrix that was computed here", "[capacity]") {
  const AnalysisSettings settings = settings_of(true);
  std::vector<float> rows = {0, 0, 1, 2, 0, 0};
  const WeightMatrix matrix = WeightMatrix::over(rows.data(), 3, 2, "rows");
  CHECK(analyse(matrix, settings, world()).sets.empty());  // one row: no pair, and no file's fault
  rows[5] = std::numeric_limits<float>::infinity();
  try {
    analyse(matrix, settings, world());
    FAIL("an infinity is no number");
  } catch (const Error& error) {
    CHECK(error.status() == Status::numerical);
  }
}

TEST_CASE("cosine of each token's two vectors", "[capacity]") {
  const Held a = hold({1, 0, 0, 1, 0, 0, 3, 4}, 4, 2, Stored::f64);
  const Held b = hold({2, 0, 0, -5, 1, 1, 4, -3}, 4, 2, Stored::f64);
  const TokenCosines c = token_cosines(a.matrix, b.matrix, 4, 4, world());
  CHECK(c.tokens == 3);
  CHECK(c.skipped == 1);
  CHECK(std::abs(c.mean) < rounding_of_sums<double>(2, 1));  // 1, -1, 0
  CHECK(c.deviation == Approx(std::sqrt(2.0 / 3.0)));
  CHECK(c.histogram == Doubles{1, 0, 1, 1});
}

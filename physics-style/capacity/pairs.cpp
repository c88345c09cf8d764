#include "capacity/pairs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "capacity/tally.hpp"
#include "data/batches/step_batch.hpp"
#include "kernels/gemm/gemm.hpp"

namespace lexikos::capacity {

// --- extreme pairs -------------------------------------------------------------------------------

bool ExtremePairs::before(const ExtremePair& a, const ExtremePair& b) const {
  if (a.cosine != b.cosine) return sign_ * a.cosine > sign_ * b.cosine;
  return a.first != b.first ? a.first < b.first : a.second < b.second;
}

bool ExtremePairs::may_enter(double cosine, Index first) const {
  if (static_cast<Index>(heap_.size()) < most_) return true;
  if (most_ == 0) return false;
  const ExtremePair& last = heap_.front();
  return sign_ * cosine > sign_ * last.cosine || (cosine == last.cosine && first <= last.first);
}

void ExtremePairs::offer(const ExtremePair& pair) {
  const auto order = [this](const ExtremePair& a, const ExtremePair& b) { return before(a, b); };
  if (static_cast<Index>(heap_.size()) >= most_) {
    if (most_ == 0 || !before(pair, heap_.front())) return;
    std::pop_heap(heap_.begin(), heap_.end(), order);
    heap_.pop_back();
  }
  heap_.push_back(pair);
  std::push_heap(heap_.begin(), heap_.end(), order);
}

std::vector<ExtremePair> ExtremePairs::sorted() const {
  std::vector<ExtremePair> pairs = heap_;
  std::sort(pairs.begin(), pairs.end(),
            [this](const ExtremePair& a, const ExtremePair& b) { return before(a, b); });
  return pairs;
}

// --- tallies -------------------------------------------------------------------------------------

double PairTally::deviation() const {
  const double mean = sum / pairs;
  return std::sqrt(std::max(square / pairs - mean * mean, 0.0));
}

double PairTally::skewness() const {
  const double mean = sum / pairs, variance = square / pairs - mean * mean;
  // Cosines that differ by rounding alone have no skewness, and that rounding has one of its own.
  const double spread = std::sqrt(std::max(variance, 0.0));
  if (!(spread > 64 * rounding)) return std::numeric_limits<double>::quiet_NaN();
  const double third = cube / pairs - 3 * mean * square / pairs + 2 * mean * mean * mean;
  return third / (variance * spread);
}

void PairTally::merge(const PairTally& other, Index extremes) {
  pairs += other.pairs;
  sum += other.sum;
  square += other.square;
  cube += other.cube;
  smallest = std::min(smallest, other.smallest);
  largest = std::max(largest, other.largest);
  for (std::size_t b = 0; b < histogram.size(); ++b) histogram[b] += other.histogram[b];
  ExtremePairs high(extremes, true), low(extremes, false);
  for (const ExtremePair& pair : most_positive) high.offer(pair);
  for (const ExtremePair& pair : other.most_positive) high.offer(pair);
  for (const ExtremePair& pair : most_negative) low.offer(pair);
  for (const ExtremePair& pair : other.most_negative) low.offer(pair);
  most_positive = high.sorted();
  most_negative = low.sorted();
}

// --- the pass ------------------------------------------------------------------------------------

namespace {

// Wide enough for the GEMM to reach its rate (512 columns of 4,096 gave three quarters of it),
// narrow enough for the half of a tile on the diagonal that is computed and not used.
constexpr Index tile_columns = 1024;

struct Tile {
  Index row, rows, column, columns;
  bool inside;  // all of its rows and columns are in the inner set
};

/// Starts of stretches of at most `step` rows that do not cross `inner`, with the end behind them.
std::vector<Index> stretches(Index n, Index inner, Index step) {
  std::vector<Index> starts;
  for (Index i = 0; i < inner; i += step) starts.push_back(i);
  for (Index i = inner; i < n; i += step) starts.push_back(i);
  starts.push_back(n);
  return starts;
}

/// Tiles that hold all i < j, panel of rows by panel of rows. A pure function of the sizes.
std::vector<Tile> make_tiles(Index n, Index inner, TileShape shape) {
  const std::vector<Index> rows = stretches(n, inner, shape.rows);
  const std::vector<Index> columns = stretches(n, inner, shape.columns);
  std::vector<Tile> tiles;
  for (std::size_t a = 0; a + 1 < rows.size(); ++a) {
    for (std::size_t b = 0; b + 1 < columns.size(); ++b) {
      // Rows past the last column have no pairs here.
      const Index end = std::min(rows[a + 1], columns[b + 1]);
      if (end <= rows[a]) continue;
      const bool inside = rows[a] < inner && columns[b] < inner;
      tiles.push_back({rows[a], end - rows[a], columns[b], columns[b + 1] - columns[b], inside});
    }
  }
  return tiles;
}

/// This rank's tiles: contiguous, so that panels of rows are kept, and of about the same work.
std::vector<Tile> my_tiles(const std::vector<Tile>& tiles, const Communicator& comm) {
  double total = 0, before = 0;
  for (const Tile& t : tiles) total += static_cast<double>(t.rows) * static_cast<double>(t.columns);
  std::vector<Tile> mine;
  for (const Tile& t : tiles) {
    const double work = static_cast<double>(t.rows) * static_cast<double>(t.columns);
    const int owner =
        std::min(static_cast<int>((before + work / 2) / total * comm.size()), comm.size() - 1);
    if (owner == comm.rank()) mine.push_back(t);
    before += work;
  }
  return mine;
}

/// Numbers of the host as a device array of S.
template <class S>
Buffer<S> on_device(const std::vector<double>& values) {
  const Buffer<S> buffer(without_initializing("Lexikos::capacity::row_numbers"), values.size());
  const auto host = Kokkos::create_mirror_view(Kokkos::HostSpace(), buffer);
  for (std::size_t i = 0; i < values.size(); ++i) host(i) = static_cast<S>(values[i]);
  Kokkos::deep_copy(buffer, host);
  return buffer;
}

/// A panel of unit rows in device memory.
template <class S>
class Panel {
 public:
  Panel(Index rows, Index width)
      : width_(width),
        memory_(without_initializing("Lexikos::capacity::panel"), rows * width),
        host_(Kokkos::create_mirror_view(Kokkos::HostSpace(), memory_)) {}

  void load(const UnitRows& rows, Index begin, Index count) {
    if (begin == begin_ && count == count_) return;
    begin_ = begin;
    count_ = count;
    rows.fill(begin, count, host_pointer(host_));
    Kokkos::deep_copy(memory_, host_);
  }
  View2<const S> rows(Index count) const { return View2<const S>(memory_.data(), count, width_); }

 private:
  Index width_, begin_ = -1, count_ = 0;
  Buffer<S> memory_;
  decltype(Kokkos::create_mirror_view(Kokkos::HostSpace(), Buffer<S>())) host_;
};

/// One question while tiles are visited.
template <class S>
class Answer {
 public:
  Answer(const PairQuestion& question, const PairSettings& settings, Index slots)
      : question_(question),
        bins_(settings.bins),
        slots_(slots),
        sums_("Lexikos::capacity::sums", slots * 4),
        counts_("Lexikos::capacity::counts", slots * histogram_copies * bins_),
        totals_("Lexikos::capacity::histogram", bins_),
        high_(settings.extremes, true),
        low_(settings.extremes, false) {
    if (question.centred != nullptr) {
      p_ = on_device<S>(question.centred->p());
      q_ = on_device<S>(question.centred->q());
      s_ = on_device<S>(question.centred->s());
    }
  }

  [[nodiscard]] bool asks(const Tile& tile) const {
    return question_.where == PairQuestion::Where::all ||
           tile.inside == (question_.where == PairQuestion::Where::inside);
  }

  void tally_pairs(const Tile& tile, View2<const S> cosines, View1<S> smallest, View1<S> largest,
                   const std::vector<Index>& ids) {
    const ExecSpace space;
    CosineTile<S> f{cosines,
                    tile.row,
                    tile.column,
                    window(p_),
                    window(q_),
                    window(s_),
                    static_cast<S>(bins_) / S(2),
                    bins_,
                    question_.shift,
                    slots_,
                    View2<double>(sums_.data(), slots_, 4),
                    counts(),
                    smallest,
                    largest};
    tally_tile(space, f);
    drain_counts(space, counts(), bins_, View1<std::uint64_t>(totals_.data(), bins_));
    space.fence();
    collect_extremes(f, ids);
  }

  /// Sums over ranks; every rank gets all of it.
  PairTally finish(Index extremes, const Communicator& comm) {
    PairTally tally;
    tally.shift = question_.shift;
    tally.rounding = std::numeric_limits<S>::epsilon();
    const auto sums = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), sums_);
    const auto totals = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), totals_);
    std::vector<double> four(4, 0.0);
    for (Index i = 0; i < 4 * slots_; ++i) four[i % 4] += sums(i);
    tally.histogram.assign(bins_, 0.0);
    for (Index b = 0; b < bins_; ++b) tally.histogram[b] = static_cast<double>(totals(b));
    comm.sum(four);
    comm.sum(tally.histogram);
    tally.pairs = four[0];
    tally.sum = four[1];
    tally.square = four[2];
    tally.cube = four[3];
    tally.largest = comm.max(largest_);
    tally.smallest = -comm.max(-smallest_);
    tally.most_positive = gather(high_, extremes, true, comm);
    tally.most_negative = gather(low_, extremes, false, comm);
    return tally;
  }

 private:
  static View1<const S> window(const Buffer<S>& b) { return View1<const S>(b.data(), b.size()); }
  View2<std::uint32_t> counts() const {
    return View2<std::uint32_t>(counts_.data(), slots_, histogram_copies * bins_);
  }

  /// Goes through the few rows that hold a pair more extreme than those kept.
  void collect_extremes(const CosineTile<S>& f, const std::vector<Index>& ids) {
    const Index rows = static_cast<Index>(f.cosines.extent(0));
    const Kokkos::HostSpace host_space;
    const auto smallest =
        Kokkos::create_mirror_view_and_copy(host_space, View1<S>(f.smallest.data(), rows));
    const auto largest =
        Kokkos::create_mirror_view_and_copy(host_space, View1<S>(f.largest.data(), rows));
    for (Index row = 0; row < rows; ++row) {
      if (largest(row) < S(-1)) continue;  // no pairs
      largest_ = std::max(largest_, static_cast<double>(largest(row)));
      smallest_ = std::min(smallest_, static_cast<double>(smallest(row)));
      const Index first = std::min(ids[f.first_row + row], ids[f.first_column]);
      if (high_.may_enter(largest(row), first) || low_.may_enter(smallest(row), first)) {
        scan_row(f, row, ids);
      }
    }
  }

  void scan_row(const CosineTile<S>& f, Index row, const std::vector<Index>& ids) {
    const Index columns = static_cast<Index>(f.cosines.extent(1));
    const auto cosines = Kokkos::create_mirror_view_and_copy(
        Kokkos::HostSpace(), View1<const S>(&f.cosines(row, 0), columns));
    const S *p = host(p_, host_p_), *q = host(q_, host_q_), *s = host(s_, host_s_);
    const Index i = f.first_row + row;
    for (Index k = first_column_of(f, row); k < columns; ++k) {
      const Index j = f.first_column + k;
      S c = cosines(k);
      if (p != nullptr) c = p[i] * p[j] * c - q[i] * s[j] - s[i] * (q[j] - s[j]);
      const double value = clamp_cosine<S>(c);
      const Index a = std::min(ids[i], ids[j]), b = std::max(ids[i], ids[j]);
      if (high_.may_enter(value, a)) high_.offer({value, a, b});
      if (low_.may_enter(value, a)) low_.offer({value, a, b});
    }
  }

  /// Host copy of a device array, made at the first call; nullptr for an empty one.
  static const S* host(const Buffer<S>& from, HostBuffer<S>& copy) {
    if (from.size() == 0) return nullptr;
    if (copy.size() == 0) {
      copy = HostBuffer<S>("Lexikos::capacity::row_numbers_on_host", from.size());
      Kokkos::deep_copy(copy, from);
    }
    return host_pointer(copy);
  }

  /// The most extreme of all ranks: three numbers a pair, each rank in its own place.
  static std::vector<ExtremePair> gather(const ExtremePairs& mine, Index most, bool largest,
                                         const Communicator& comm) {
    const std::vector<ExtremePair> sorted = mine.sorted();
    std::vector<double> all(static_cast<std::size_t>(comm.size() * most * 4), 0.0);
    double* out = all.data() + comm.rank() * most * 4;
    for (const ExtremePair& pair : sorted) {
      *out++ = 1;
      *out++ = pair.cosine;
      *out++ = static_cast<double>(pair.first);
      *out++ = static_cast<double>(pair.second);
    }
    comm.sum(all);
    ExtremePairs together(most, largest);
    for (std::size_t k = 0; k < all.size(); k += 4) {
      if (all[k] == 0) continue;
      together.offer({all[k + 1], static_cast<Index>(all[k + 2]), static_cast<Index>(all[k + 3])});
    }
    return together.sorted();
  }

  PairQuestion question_;
  Index bins_, slots_;
  Buffer<double> sums_;
  Buffer<std::uint32_t> counts_;
  Buffer<std::uint64_t> totals_;
  Buffer<S> p_, q_, s_;
  HostBuffer<S> host_p_, host_q_, host_s_;
  ExtremePairs high_, low_;
  double smallest_ = 2, largest_ = -2;
};

/// Makes the product of a tile once more, for the time it takes by itself: the machine's limit at
/// this moment, on these panels.
template <class S>
void sample_product(View2<const S> left, View2<const S> right, View2<S> cosines,
                    GemmSamples& samples) {
  const ExecSpace space;
  const Kokkos::Timer timer;
  gemm<S>(space, Op::none, Op::transpose, S(1), left, right, S(0), cosines);
  space.fence();
  const double seconds = timer.seconds();
  samples.rates.push_back(2.0 * static_cast<double>(cosines.size()) *
                          static_cast<double>(left.extent(1)) / seconds);
  samples.seconds += seconds;
}

}  // namespace

TileShape tile_shape(Index width, Index scalar_bytes, const PairSettings& settings) {
  const Index most = settings.panel_bytes / (width * scalar_bytes) / tile_columns * tile_columns;
  return {std::clamp<Index>(most, tile_columns, 4 * tile_columns), tile_columns};
}

template <class S>
std::vector<PairTally> tally_pairs(const UnitRows& rows, const std::vector<PairQuestion>& questions,
                                   const PairSettings& settings, const Communicator& comm) {
  const ExecSpace space;
  const TileShape shape = tile_shape(rows.width(), sizeof(S), settings);
  const Index slots = device_is_host ? static_cast<Index>(space.concurrency()) : 256;
  Panel<S> left(std::min(shape.rows, rows.size()), rows.width());
  Panel<S> right(std::min(shape.columns, rows.size()), rows.width());
  const Buffer<S> tile_memory(without_initializing("Lexikos::capacity::tile"),
                              shape.rows * shape.columns);
  const Buffer<S> smallest("Lexikos::capacity::smallest", shape.rows);
  const Buffer<S> largest("Lexikos::capacity::largest", shape.rows);
  std::vector<Answer<S>> answers;
  for (const PairQuestion& question : questions) answers.emplace_back(question, settings, slots);

  Index panel_row = -1, sampled_row = -1;
  for (const Tile& tile : my_tiles(make_tiles(rows.size(), settings.inner, shape), comm)) {
    if (tile.row != panel_row) {
      const Index limit = tile.row < settings.inner ? settings.inner : rows.size();
      left.load(rows, tile.row, std::min(shape.rows, limit - tile.row));
      panel_row = tile.row;
    }
    right.load(rows, tile.column, tile.columns);
    const View2<S> cosines(tile_memory.data(), tile.rows, tile.columns);
    gemm<S>(space, Op::none, Op::transpose, S(1), left.rows(tile.rows), right.rows(tile.columns),
            S(0), cosines);
    for (Answer<S>& answer : answers) {
      if (!answer.asks(tile)) continue;
      answer.tally_pairs(tile, cosines, View1<S>(smallest.data(), shape.rows),
                         View1<S>(largest.data(), shape.rows), rows.ids());
    }
    const bool whole = tile.rows == shape.rows && tile.columns == shape.columns;
    if (settings.samples != nullptr && whole && sampled_row != panel_row) {
      sample_product<S>(left.rows(tile.rows), right.rows(tile.columns), cosines, *settings.samples);
      sampled_row = panel_row;
    }
  }
  std::vector<PairTally> tallies;
  for (Answer<S>& answer : answers) tallies.push_back(answer.finish(settings.extremes, comm));
  return tallies;
}

template std::vector<PairTally> tally_pairs<float>(const UnitRows&,
                                                   const std::vector<PairQuestion>&,
                                                   const PairSettings&, const Communicator&);
template std::vector<PairTally> tally_pairs<double>(const UnitRows&,
                                                    const std::vector<PairQuestion>&,
                                                    const PairSettings&, const Communicator&);

}  // namespace lexikos::capacity

#include "jobs/packing/packing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "console/console.hpp"
#include "jobs/packing/packing_file.hpp"
#include "packing/packing.hpp"
#include "train/gemm_rate.hpp"
#include "train/member_files.hpp"
#include "train/provenance.hpp"
#include "train/settings.hpp"
#include "train/stop_signal.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

using packing::Cell;
using packing::Vectors;

/// Of a grid; more are a slip.
constexpr std::size_t most_cells = 100000;

struct PackingSettings {
  std::string kind;         // "optimised" or "random"
  std::vector<Cell> cells;  // largest work first
  Index steps = 0, trials = 0;
  double learning_rate = 0;  // 0: the published one
  Index numerator = 0;       // q; 0: the published one
  Index power = 0;           // p; 0: from q
  Index tile = 0;            // vectors
  Index history_every = 0;   // steps
  bool gemm_rate = false;
  std::uint64_t seed = 0;
  std::string directory;
  std::string resolved_deck;
};

bool optimised(const PackingSettings& s) { return s.kind == "optimised"; }

PackingRequest request_for(const PackingSettings& s, const Cell& cell) {
  PackingRequest r;
  r.kind = s.kind;
  r.dimension = cell.dimension;
  r.count = cell.count;
  r.seed = static_cast<std::int64_t>(s.seed);
  r.repeats = optimised(s) ? s.steps : s.trials;
  if (!optimised(s)) return r;
  r.power = s.power > 0 ? s.power : std::max<Index>(2, packing::published_power(cell, s.numerator));
  r.learning_rate = s.learning_rate > 0 ? s.learning_rate : packing::published_learning_rate(cell);
  return r;
}

/// The start of a cell's vectors: its own random numbers, whichever rank and order.
std::string stream_name(const PackingRequest& r, Index trial) {
  return "packing." + r.kind + "." + std::to_string(r.dimension) + "." + std::to_string(r.count) +
         (trial > 0 ? "." + std::to_string(trial) : "");
}

double flops(const PackingSettings& s, const Cell& cell) {
  return optimised(s) ? packing::step_flops(cell) * static_cast<double>(s.steps)
                      : packing::pass_flops(cell) * static_cast<double>(s.trials);
}

class CellRun {
 public:
  CellRun(const PackingSettings& s, const Cell& cell, Console& console)
      : s_(s),
        request_(request_for(s, cell)),
        console_(console),
        vectors_(cell, std::max<Index>(2, request_.power), s.tile, optimised(s)) {}

  PackingResult run() {
    const Clock clock;
    optimised(s_) ? optimise(clock) : draw_trials(clock);
    result_.seconds = clock.seconds();
    return result_;
  }

 private:
  void optimise(const Clock& clock) {
    vectors_.draw(s_.seed, stream_name(request_, 0));
    for (Index step = 1; step <= s_.steps; ++step) {
      vectors_.pass(space_, true);
      // As published: epsilon of the last step is that of the vectors it started from.
      if (step % s_.history_every == 0 || step == s_.steps) record(step, vectors_.read(space_));
      vectors_.adam(space_, request_.learning_rate, step);
      console_.progress(step, s_.steps, clock.seconds());
    }
    result_.epsilon = result_.epsilons.back();
  }

  void draw_trials(const Clock& clock) {
    for (Index trial = 1; trial <= s_.trials; ++trial) {
      vectors_.draw(s_.seed, stream_name(request_, trial));
      vectors_.pass(space_, false);
      record(trial, vectors_.read(space_));
      console_.progress(trial, s_.trials, clock.seconds());
    }
    result_.epsilon = *std::min_element(result_.epsilons.begin(), result_.epsilons.end());
  }

  void record(Index step, const packing::Pass& pass) {
    if (!std::isfinite(pass.loss) || !std::isfinite(pass.epsilon)) {
      fail(Status::numerical,
           "the cosines of the packing of " + std::to_string(request_.count) + " vectors in " +
               std::to_string(request_.dimension) + " dimensions are not finite at " +
               (optimised(s_) ? "step " + std::to_string(step) + "; lower packing.learning_rate"
                              : "trial " + std::to_string(step) + "; choose another seed"));
    }
    result_.at.push_back(step);
    result_.epsilons.push_back(pass.epsilon);
    if (optimised(s_)) result_.losses.push_back(pass.loss);
  }

  const PackingSettings& s_;
  PackingRequest request_;
  Console& console_;
  Vectors<float> vectors_;
  ExecSpace space_;
  PackingResult result_;
};

/// FLOP/s of the products of a step on this rank.
double gemm_rate_for(const PackingSettings& s, const Cell& cell) {
  const Index tile = std::min(s.tile, cell.count), d = cell.dimension;
  std::vector<StepProduct> products = {{Op::none, Op::transpose, tile, tile, d, 1}};
  if (optimised(s)) {
    products.push_back({Op::none, Op::none, tile, d, tile, 1});
    products.push_back({Op::transpose, Op::none, tile, d, tile, 1});
  }
  return measure_gemm_rate<float>(products).sustained();
}

std::string cell_text(const PackingSettings& s, const Cell& cell, const PackingResult& result,
                      double gemm_rate) {
  const double rate = flops(s, cell) / result.seconds;
  char text[160];
  std::snprintf(text, sizeof text, "cell d=%lld k=%lld epsilon=%.6f seconds=%.1f rate=%sFLOP/s",
                static_cast<long long>(cell.dimension), static_cast<long long>(cell.count),
                result.epsilon, result.seconds, format_si(rate).c_str());
  std::string line = text;
  if (gemm_rate > 0) {
    std::snprintf(text, sizeof text, " gemm=%.0f%%", 100.0 * rate / gemm_rate);
    line += text;
  }
  return line;
}

/// This rank's cells, until the wall limit or a signal; false where some are left.
bool run_cells(const PackingSettings& s, const std::vector<Cell>& cells, const Arguments& arguments,
               const Clock& clock, Console& console) {
  for (const Cell& cell : cells) {
    const bool out_of_time =
        arguments.wall_limit && clock.seconds() > static_cast<double>(*arguments.wall_limit);
    if (out_of_time || stop_signal() != 0) return false;
    const PackingRequest request = request_for(s, cell);
    const std::string path = packing_path(s.directory, request);
    if (has_packing(path, request)) {
      console.line(path + " is there");
      continue;
    }
    const double gemm_rate = s.gemm_rate ? gemm_rate_for(s, cell) : NAN;
    const PackingResult result = CellRun(s, cell, console).run();
    Attributes attributes = provenance(s.resolved_deck);
    attributes.set("gemm_gflops", gemm_rate * 1e-9).set("gflop", flops(s, cell) * 1e-9);
    write_packing(path, request, result, attributes);
    console.line(cell_text(s, cell, result, gemm_rate));
  }
  return true;
}

/// Cells of each rank: every cell goes, largest first, to the rank with the least work so far. The
/// same on every rank.
std::vector<std::vector<Cell>> spread_cells(const std::vector<Cell>& cells, int ranks) {
  std::vector<std::vector<Cell>> spread(static_cast<std::size_t>(ranks));
  std::vector<double> work(spread.size(), 0.0);
  for (const Cell& cell : cells) {
    const auto least = std::min_element(work.begin(), work.end()) - work.begin();
    spread[static_cast<std::size_t>(least)].push_back(cell);
    work[static_cast<std::size_t>(least)] += packing::step_flops(cell);
  }
  return spread;
}

void dry_run(const PackingSettings& s, const Communicator& world, Console& console) {
  console.line("# resolved deck");
  console.line(s.resolved_deck);
  const auto spread = spread_cells(s.cells, world.size());
  for (int rank = 0; rank < world.size(); ++rank) {
    for (const Cell& cell : spread[static_cast<std::size_t>(rank)]) {
      const PackingRequest r = request_for(s, cell);
      char text[160];
      std::snprintf(text, sizeof text, "rank %d  d %6lld  k %8lld  p %2lld  learning rate %-8g %s",
                    rank, static_cast<long long>(r.dimension), static_cast<long long>(r.count),
                    static_cast<long long>(r.power), r.learning_rate,
                    format_si(flops(s, cell), "FLOP").c_str());
      console.line(text);
    }
  }
}

/// Every pair of a dimension and a count, those with the most work first.
std::vector<Cell> grid(const std::vector<std::int64_t>& dimensions,
                       const std::vector<std::int64_t>& counts) {
  std::vector<Cell> cells;
  for (const std::int64_t d : dimensions) {
    for (const std::int64_t k : counts) cells.push_back({d, k});
  }
  std::stable_sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) {
    return packing::step_flops(a) > packing::step_flops(b);
  });
  return cells;
}

void read_optimiser(const DeckTable& table, PackingSettings& s) {
  s.steps = table.integer({.name = "steps", .doc = "Adam steps of an optimised cell"}, 5000,
                          Between(1, 1e9));
  s.learning_rate = table.real({.name = "learning_rate",
                                .doc = "constant learning rate",
                                .default_note = "0: 0.005 up to d = 1024, 0.0025 above"},
                               0.0, Between(0, 1e30));
  s.numerator = table.integer(
      {.name = "numerator",
       .doc = "q of the exponent p = min(int(q / ln d), 20)",
       .default_note = "0: 60; 40 where d >= 1024 and k <= 4000; 50 where d >= 3072 and k > 4000"},
      0, Between(0, 1e6));
  s.power = table.integer(
      {.name = "power", .doc = "p itself, the same for all cells", .default_note = "0: from q"}, 0,
      Between(0, packing::largest_power));
  if (s.power == 1) table.reject("power", "has no gradient at zero; 2 is the least");
  s.history_every =
      table.integer({.name = "history_every", .doc = "between recorded steps", .unit = "steps"}, 50,
                    Between(1, 1e9));
}

PackingSettings read_settings(const DeckTable& table) {
  PackingSettings s;
  s.kind = table.choice(
      {.name = "kind", .doc = "vectors moved apart by Adam, or the best of random draws"},
      "optimised", {"optimised", "random"});
  const auto dimensions = table.integers({.name = "dimensions", .doc = "d of the grid's cells"},
                                         required, Between(2, 1 << 20));
  const auto counts =
      table.integers({.name = "counts", .doc = "k of the grid's cells", .unit = "vectors"},
                     required, Between(2, 0x1p31));
  if (dimensions.empty() && table.has("dimensions")) table.reject("dimensions", "is empty");
  if (counts.empty() && table.has("counts")) table.reject("counts", "is empty");
  if (dimensions.size() * counts.size() > most_cells) {
    table.reject("counts", "and packing.dimensions have more than " + format_count(most_cells) +
                               " cells; split them");
  }
  read_optimiser(table, s);
  s.trials =
      table.integer({.name = "trials", .doc = "draws of a random cell"}, 1000, Between(1, 1e9));
  s.tile = table.integer({.name = "tile",
                          .doc = "rows and columns of the Gram matrix that exist together",
                          .unit = "vectors"},
                         512, Between(1, 1 << 16));
  s.gemm_rate = table.flag(
      {.name = "gemm_rate", .doc = "measure the GEMM rate before each cell, to report its share"},
      false);
  s.cells = grid(dimensions, counts);
  return s;
}

class PackingJob final : public Job {
 public:
  explicit PackingJob(PackingSettings settings) : settings_(std::move(settings)) {}
  std::optional<MemberCounts> plan(const JobContext& context) const override {
    dry_run(settings_, context.comm, context.console);
    return {};
  }
  Outcome run(const JobContext& context) override;
  const std::string& folder() const override { return settings_.directory; }

 private:
  PackingSettings settings_;
};

Outcome PackingJob::run(const JobContext& context) {
  const auto& [arguments, comm, root, since_start] = context;
  comm.on_root([&] { make_directory(settings_.directory); });
  bool done = false;
  hold_stop_signals();
  comm.on_all([&] {
    Console console(true, comm.size() > 1 ? "rank " + std::to_string(comm.rank()) + ": " : "");
    const auto spread = spread_cells(settings_.cells, comm.size());
    done = run_cells(settings_, spread[static_cast<std::size_t>(comm.rank())], arguments,
                     since_start, console);
  });
  const bool all_done = comm.max(done ? 0.0 : 1.0) == 0.0;
  root.line(all_done ? "all cells are in " + settings_.directory
                     : "terminated with cells left; the same command goes on");
  return {.finished = all_done};
}

}  // namespace

std::unique_ptr<Job> read_packing(JobDeck& from) {
  const std::uint64_t seed = read_seed(from.deck);
  const std::string of_deck = read_output_directory(from.deck);
  PackingSettings s = read_settings(from.deck.table("packing"));
  s.seed = seed;
  s.directory = from.outdir.empty() ? of_deck : from.outdir;
  s.resolved_deck = from.deck.resolved();
  return std::make_unique<PackingJob>(std::move(s));
}

void check_packing(const Deck& deck) { read_settings(deck.idle_table("packing")); }

}  // namespace lexikos

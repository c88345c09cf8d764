#include "jobs/capacity/capacity.hpp"

#include <algorithm>
#include <filesystem>

#include "console/console.hpp"
#include "data/tokens/token_file.hpp"
#include "hdf5/file.hpp"
#include "jobs/capacity/capacity_file.hpp"
#include "jobs/capacity/capacity_report.hpp"
#include "registry.hpp"
#include "train/gemm_rate.hpp"
#include "train/member_files.hpp"
#include "train/provenance.hpp"
#include "train/settings.hpp"
#include "utils/median.hpp"
#include "utils/text.hpp"
#include "weights/weight_file.hpp"

namespace lexikos {
namespace {

struct CapacitySettings {
  std::vector<std::string> files;
  std::string matrix;                       // "input", "output", "both"
  bool matrix_said = false;                 // in the deck; else an output that is not read is none
  std::string input_tensor, output_tensor;  // "": by the families' names
  std::string tokens_file;                  // "": rows that were never trained on are not known
  bool gemm_rate = true;
  capacity::AnalysisSettings analysis;
  capacity::Law law;
  std::string directory;
  std::string resolved_deck;
};

/// What a tokens file tells of rows.
struct Tokens {
  std::vector<std::uint64_t> counts;
  std::vector<std::string> pieces;
};

Tokens read_tokens(const std::string& path) {
  if (path.empty()) return {};
  Tokens tokens;
  tokens.counts = TokenFile(path, "train").train_counts();
  const Hdf5Reader file(path);
  if (file.has("/pieces")) tokens.pieces = file.read_strings("/pieces");
  return tokens;
}

/// The matrices of one file that are to be analysed.
struct Found {
  std::optional<WeightMatrix> input, output;
  std::string remark;       // on an output matrix that is not there
  std::string passed_over;  // what beside the file was not read
};

/// The output matrix. Where nobody asked for it, what is wrong with it is a remark.
void find_output(const CapacitySettings& s, const WeightFile& file, Found& found) {
  try {
    found.output =
        s.output_tensor.empty() ? file.matrix(Side::output) : file.matrix(s.output_tensor);
  } catch (const Error& error) {
    if (s.matrix_said || !s.output_tensor.empty()) throw;
    found.remark = error.what();
    return;
  }
  if (!found.output && s.matrix == "output") {
    fail(Status::file, "cannot read '" + file.path() +
                           "': none of its tensors has an output matrix's usual name; a tied model "
                           "has none, others are named in capacity.output_tensor");
  }
  if (!found.output) found.remark = "the file has none";
}

Found find_matrices(const CapacitySettings& s, const std::string& name) {
  const WeightFile file(name, {"capacity.files", "capacity.input_tensor", "capacity.output_tensor"},
                        stored_table);
  Found found;
  found.passed_over = file.passed_over();
  if (s.matrix != "output") {
    found.input = s.input_tensor.empty() ? file.matrix(Side::input) : file.matrix(s.input_tensor);
  }
  if (s.matrix != "input") find_output(s, file, found);
  if (found.output && found.input && same_values(*found.input, *found.output)) {
    found.remark = "the input's, bit for bit (tied)";
    found.output.reset();
  }
  return found;
}

/// FLOP/s of the products that the pass over the pairs makes, next to what else the machine does:
/// the median over the pass, or what it is now where the matrix is too small for a whole tile.
double gemm_rate(const capacity::GemmSamples& samples, const WeightMatrix& matrix,
                 const capacity::PairSettings& pairs) {
  if (!samples.rates.empty()) return median(samples.rates);
  const capacity::TileShape tile = capacity::tile_shape(matrix.width, sizeof(float), pairs);
  const StepProduct product{Op::none, Op::transpose, tile.rows, tile.columns, matrix.width, 1};
  return measure_gemm_rate<float>({product}).sustained();
}

class Analysis {
 public:
  Analysis(const CapacitySettings& settings, const Communicator& world, Console& console)
      : s_(settings), world_(world), console_(console) {}

  void run() {
    analysis_ = s_.analysis;
    world_.on_all([&] { tokens_ = read_tokens(s_.tokens_file); });
    analysis_.train_counts = tokens_.counts;
    world_.on_root([&] { make_directory(s_.directory); });
    for (const std::string& name : s_.files) one_file(name);
    const std::string path = (std::filesystem::path(s_.directory) / "capacity.h5").string();
    const Attributes root = provenance(s_.resolved_deck).set("ranks", world_.size());
    world_.on_root([&] { write_capacity(path, root, records_, s_.law, tokens_.pieces); });
    console_.line(capacity_definitions());
    console_.line("All numbers are in " + path);
  }

 private:
  void one_file(const std::string& name) {
    Found found;
    world_.on_all([&] { found = find_matrices(s_, name); });
    if (!found.passed_over.empty()) console_.line(name + ": " + found.passed_over);
    if (found.input) one_matrix(name, "input", *found.input);
    if (!found.remark.empty()) console_.line("  output matrix: " + found.remark);
    if (!found.output) return;
    one_matrix(name, "output", *found.output);
    if (found.input) both(*found.input, *found.output);
  }

  void one_matrix(const std::string& name, const std::string& side, const WeightMatrix& matrix) {
    console_.line(side + " matrix of " + matrix.name);
    capacity::GemmSamples samples;
    capacity::AnalysisSettings sampled = analysis_;
    if (s_.gemm_rate) sampled.pairs.samples = &samples;
    records_.push_back({name, side, capacity::analyse(matrix, sampled, world_), {}});
    capacity::MatrixReport& report = records_.back().report;
    report.pair_seconds -= samples.seconds;
    report.all_seconds -= samples.seconds;
    const double rate =
        s_.gemm_rate ? world_.sum(gemm_rate(samples, matrix, analysis_.pairs)) : 0.0;
    if (!world_.is_root()) return;
    std::string text = matrix_text(report, s_.law, tokens_.pieces) + speed_text(report, rate);
    text.pop_back();
    console_.line(text);
  }

  void both(const WeightMatrix& input, const WeightMatrix& output) {
    if (input.width != output.width) {
      console_.line("  no cosine of input and output: their widths differ");
      return;
    }
    Index count = std::min(input.rows, output.rows);
    if (analysis_.vocabulary_size > 0) count = std::min(count, analysis_.vocabulary_size);
    const capacity::TokenCosines cosines =
        capacity::token_cosines(input, output, count, analysis_.pairs.bins, world_);
    std::string text = token_cosine_text(cosines);
    text.pop_back();
    console_.line(text);
    records_.back().token_cosines = cosines;
  }

  const CapacitySettings& s_;
  const Communicator& world_;
  Console& console_;
  capacity::AnalysisSettings analysis_;
  Tokens tokens_;
  std::vector<CapacityRecord> records_;
};

/// What would be done, without reading a matrix; files may still be missing.
void dry_run(const CapacitySettings& s, Console& console) {
  console.line("# resolved deck");
  console.line(s.resolved_deck);
  const auto say = [&](const char* side, const std::optional<WeightMatrix>& m) {
    if (!m) return;
    const double work =
        static_cast<double>(m->rows) * static_cast<double>(m->rows) * static_cast<double>(m->width);
    console.line(std::string(side) + " matrix of " + m->name + ": V " + format_count(m->rows) +
                 ", D " + format_count(m->width) + ", " + element_name(m->element) + ", " +
                 format_si(work, "FLOP"));
  };
  for (const std::string& name : s.files) {
    try {
      const Found found = find_matrices(s, name);
      say("input", found.input);
      say("output", found.output);
    } catch (const Error& error) {
      console.line(std::string("not ready: ") + error.what());
    }
  }
}

CapacitySettings read_settings(const DeckTable& table, const DeckTable& law) {
  CapacitySettings s;
  s.files = table.paths(
      {.name = "files", .doc = "weight files, folders with model.safetensors, or file.h5:/dataset"},
      required);
  s.matrix = table.choice({.name = "matrix", .doc = "which matrices of each file"}, "both",
                          {"input", "output", "both"});
  s.matrix_said = table.has("matrix");
  s.input_tensor = table.text(
      {.name = "input_tensor", .doc = "name of the input matrix; empty: by the model families"},
      "");
  s.output_tensor =
      table.text({.name = "output_tensor", .doc = "the same of the output matrix"}, "");
  s.tokens_file = table.path(
      {.name = "tokens", .doc = "tokens.h5 that tells which rows were trained on; empty: unknown"},
      "");
  s.gemm_rate = table.flag(
      {.name = "gemm_rate", .doc = "measure the GEMM rate, to report the share that is reached"},
      true);
  s.analysis = capacity::AnalysisSettings::read(table);
  s.law = capacity::Law::read(law);
  if (s.files.empty() && table.has("files")) table.reject("files", "names no file");
  return s;
}

class CapacityJob final : public Job {
 public:
  explicit CapacityJob(CapacitySettings settings) : settings_(std::move(settings)) {}
  std::optional<MemberCounts> plan(const JobContext& context) const override {
    dry_run(settings_, context.console);
    return {};
  }
  Outcome run(const JobContext& context) override {
    Analysis(settings_, context.comm, context.console).run();
    return {};
  }
  const std::string& folder() const override { return settings_.directory; }

 private:
  CapacitySettings settings_;
};

}  // namespace

std::unique_ptr<Job> read_capacity(JobDeck& from) {
  const std::string of_deck = read_output_directory(from.deck);
  CapacitySettings s = read_settings(from.deck.table("capacity"), from.deck.table("capacity.law"));
  s.directory = from.outdir.empty() ? of_deck : from.outdir;
  s.resolved_deck = from.deck.resolved();
  return std::make_unique<CapacityJob>(std::move(s));
}

void check_capacity(const Deck& deck) {
  read_settings(deck.idle_table("capacity"), deck.idle_table("capacity.law"));
}

}  // namespace lexikos

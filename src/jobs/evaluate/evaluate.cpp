#include "jobs/evaluate/evaluate.hpp"

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "train/checkpoint_use.hpp"
#include "train/evaluator.hpp"
#include "train/member_files.hpp"
#include "train/provenance.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

std::string fixed(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string range_text(const FrequencyBin& bin) {
  char text[48];
  if (std::isinf(bin.upper)) {
    std::snprintf(text, sizeof text, "%.3g and more", bin.lower);
  } else if (bin.lower == 0) {
    std::snprintf(text, sizeof text, "below %.3g", bin.upper);
  } else {
    std::snprintf(text, sizeof text, "%.3g to %.3g", bin.lower, bin.upper);
  }
  return text;
}

void print_line(Console& console, const std::string& a, const std::string& b, const std::string& c,
                const std::string& d, const std::string& e) {
  char text[128];
  std::snprintf(text, sizeof text, "%-24s %12s %12s %12s %14s", a.c_str(), b.c_str(), c.c_str(),
                d.c_str(), e.c_str());
  console.line(text);
}

void print(Console& console, const Evaluation& e, const RunData& data) {
  const double bytes = data.validation_bytes_per_token, words = data.validation_words_per_token;
  console.line("loss " + fixed(e.loss(), 4) + " nats per token over " + format_count(e.targets) +
               " targets");
  console.line(
      "perplexity " + fixed(std::exp(e.loss()), 3) + " per token" +
      (std::isnan(words) ? "" : ", " + fixed(std::exp(e.loss() / words), 3) + " per word") +
      (std::isnan(bytes) ? ""
                         : "; " + fixed(e.loss() / bytes / std::log(2.0), 4) + " bits per byte"));
  if (e.bins.empty()) return;
  print_line(console, "frequency in training", "ids", "targets", "nats/token", "perplexity");
  for (const BinLoss& b : e.bins) {
    print_line(console, range_text(b.bin), format_count(b.bin.ids), format_count(b.targets),
               fixed(b.loss(), 4), fixed(std::exp(b.loss()), 2));
  }
}

}  // namespace

Outcome evaluate(const MemberSettings& settings, const std::string& asked, const Communicator& comm,
                 Console& console) {
  const RunData data = open_data(settings.run, comm);
  Model<float> model(settings.model, settings.sizes(data.vocabulary, comm.size()));
  CheckpointHeader header;
  const std::string path = trained_checkpoint(asked, settings.directory, comm, console);
  comm.on_all([&] {
    model.allocate_for_evaluation();
    header = load_values(path, model.parameters());
    check_checkpoint(header, path, settings.resolved_deck, data);
  });
  console.line((settings.member.empty() ? "" : "member " + settings.member + ", ") + path +
               ", step " + std::to_string(header.step));

  const Clock clock;
  Evaluator<float> evaluator(settings.run, data, comm, model);
  const Evaluation e = evaluator.run(ExecSpace());
  const double seconds = clock.seconds();
  print(console, e, data);

  Attributes attributes = run_attributes(settings, data, model, comm);
  attributes.set("checkpoint", file_name(path));
  attributes.set("validation_unigram_nats",
                 unigram_nats(settings.run, data, model.shape().context));
  comm.on_root([&] {
    make_directory(settings.directory);
    write_evaluation(settings.directory + "/evaluation.h5", attributes, e, header.step,
                     header.tokens);
  });
  return {true, e.loss(), e.targets, static_cast<double>(e.targets) / seconds,
          model.list().count()};
}

}  // namespace lexikos

#include "jobs/evaluate/evaluate.hpp"

#include <cmath>
#include <cstdio>

#include "jobs/model_job.hpp"
#include "train/evaluator.hpp"
#include "train/member_files.hpp"
#include "train/provenance.hpp"
#include "train/trained_model.hpp"
#include "utils/error.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

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
  console.line("loss " + format_fixed(e.loss(), 4) + " nats per token over " +
               format_count(e.targets) + " targets");
  console.line("perplexity " + perplexity_text(e.loss(), 3) + " per token" +
               (!(words > 0) ? "" : ", " + perplexity_text(e.loss() / words, 3) + " per word") +
               (!(bytes > 0)
                    ? ""
                    : "; " + format_fixed(e.loss() / bytes / std::log(2.0), 4) + " bits per byte"));
  if (e.bins.empty()) return;
  print_line(console, "frequency in training", "ids", "targets", "nats/token", "perplexity");
  for (const BinLoss& b : e.bins) {
    print_line(console, range_text(b.bin), format_count(b.bin.ids), format_count(b.targets),
               format_fixed(b.loss(), 4), perplexity_text(b.loss(), 2));
  }
}

class EvaluateJob final : public ModelJob {
 public:
  using ModelJob::ModelJob;
  Outcome run(const JobContext& context) override;

 private:
  void write(const TrainedModel& trained, const RunData& data, const Evaluation& found,
             const Communicator& comm) const;
};

void EvaluateJob::write(const TrainedModel& trained, const RunData& data, const Evaluation& found,
                        const Communicator& comm) const {
  Attributes attributes = run_attributes(settings_, data, trained.model, comm);
  attributes.set("checkpoint", trained.file_name());
  attributes.set("validation_unigram_nats",
                 unigram_nats(data, settings_.validation.tokens, trained.model.shape().context));
  comm.on_root([&] {
    make_directory(settings_.directory);
    write_evaluation(settings_.directory + "/evaluation.h5", attributes, found, trained.header.step,
                     trained.header.tokens);
  });
}

Outcome EvaluateJob::run(const JobContext& context) {
  const auto& [arguments, comm, console, since_start] = context;
  const RunData data = open_data(settings_.data, settings_.seed, comm);
  const std::string path =
      trained_checkpoint(arguments.restart, settings_.directory, comm, console);
  std::unique_ptr<TrainedModel> trained;
  comm.on_all([&] {
    trained = TrainedModel::open(path, settings_, settings_.sizes(data.vocabulary, comm.size()),
                                 tokenizer_of(data));
  });
  console.line(trained->text(settings_.member));

  const Clock clock;
  Evaluator<float> evaluator(settings_.validation, settings_.batch, settings_.data.batch_options(),
                             data, comm, trained->model);
  const Evaluation found = evaluator.run(ExecSpace());
  const double seconds = clock.seconds();
  if (!found.finite()) {
    fail(Status::numerical, "the loss of '" + path + "' over " + format_count(found.targets) +
                                " validation targets is " + format_real(found.loss()) +
                                ": its values are finite and what the model computes of them is "
                                "not; evaluate an earlier checkpoint (-r)");
  }
  print(console, found, data);
  write(*trained, data, found, comm);
  // One member's numbers are on the console already.
  return {true,
          !settings_.member.empty(),
          found.loss(),
          found.targets,
          static_cast<double>(found.targets) / seconds,
          trained->model.parameters().count()};
}

}  // namespace

std::unique_ptr<Job> read_evaluate(JobDeck& from) {
  return std::make_unique<EvaluateJob>(read_member(from));
}

}  // namespace lexikos

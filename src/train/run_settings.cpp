#include "train/run_settings.hpp"

#include "data/tokens/frequency_bins.hpp"
#include "utils/error.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

void read_top(const Deck& deck, RunSettings& s) {
  s.seed = read_seed(deck);
  s.directory = read_output_directory(deck);
}

void check_edges(const DeckTable& validation, const std::vector<double>& edges) {
  if (edges.size() > FrequencyBins::max_edges) {
    validation.reject("frequency_edges",
                      "has more than " + std::to_string(FrequencyBins::max_edges) + " edges");
  }
  for (std::size_t i = 1; i < edges.size(); ++i) {
    if (!(edges[i] > edges[i - 1])) {
      validation.reject("frequency_edges", "must increase, and " + format_real(edges[i]) +
                                               " comes after " + format_real(edges[i - 1]));
    }
  }
}

void read_run(const Deck& deck, RunSettings& s) {
  const DeckTable run = deck.table("run");
  s.steps = run.integer({.name = "steps", .doc = "optimizer steps", .unit = "steps"}, required,
                        AtLeast(1));
  s.log_every =
      run.integer({.name = "log_every", .doc = "between lines on the console", .unit = "steps"}, 20,
                  AtLeast(1));
  s.gemm_rate = run.flag({.name = "gemm_rate",
                          .doc = "measure the GEMM rate at start (two seconds), to report shares"},
                         true);
  const DeckTable validation = deck.table("validation");
  s.validation_every = validation.integer(
      {.name = "every", .doc = "between evaluations; 0: at the end only", .unit = "steps"}, 0,
      NonNegative{});
  s.validation_tokens = validation.integer(
      {.name = "tokens",
       .doc = "targets of an evaluation, in windows spread evenly over the split; 0: all",
       .unit = "tokens"},
      0, NonNegative{});
  s.frequency_edges = validation.reals(
      {.name = "frequency_edges",
       .doc = "between the bins of relative frequency in training by which the loss is sorted",
       .unit = "increasing"},
      {1e-7, 1e-6, 1e-5, 1e-4}, Above(0) && Below(1));
  check_edges(validation, s.frequency_edges);
  s.geometry_every =
      deck.table("geometry")
          .integer(
              {.name = "every",
               .doc =
                   "between measurements of the cosines of all pairs of embedding rows; 0: never",
               .unit = "steps"},
              0, NonNegative{});
  const DeckTable checkpoint = deck.table("checkpoint");
  s.checkpoint_every = checkpoint.integer(
      {.name = "every", .doc = "between checkpoints; 0: at the end only", .unit = "steps"}, 0,
      NonNegative{});
  s.retention.newest = checkpoint.integer(
      {.name = "keep", .doc = "newest checkpoints that stay; 0: all"}, 2, NonNegative{});
  s.retention.forever = checkpoint.integer(
      {.name = "keep_every",
       .doc = "those of a step that is a multiple of this stay for ever too; 0: none",
       .unit = "steps"},
      0, NonNegative{});
  if (s.retention.forever > 0 && s.checkpoint_every > 0 &&
      s.retention.forever % s.checkpoint_every != 0) {
    checkpoint.reject("keep_every", "is not a multiple of checkpoint.every = " +
                                        std::to_string(s.checkpoint_every));
  }
}

void read_batch(const Deck& deck, Index context, RunSettings& s) {
  const DeckTable batch = deck.table("batch");
  s.batch_tokens = batch.integer({.name = "tokens",
                                  .doc = "targets of a step over all ranks; a multiple of context",
                                  .unit = "tokens",
                                  .default_note = "8 context"},
                                 8 * context, AtLeast(1));
  s.micro_batch = batch.integer({.name = "micro_batch",
                                 .doc = "sequences in one pass; 0: a rank's whole share",
                                 .unit = "sequences"},
                                0, NonNegative{});
  if (s.batch_tokens % context != 0) {
    batch.reject("tokens", "is not a multiple of transformer.context = " + std::to_string(context));
  }
  s.batch_sequences = s.batch_tokens / context;
}

}  // namespace

std::uint64_t read_seed(const Deck& deck) {
  return static_cast<std::uint64_t>(deck.table("").integer(
      {.name = "seed", .doc = "of initial values and data order"}, 1, NonNegative{}));
}

std::string read_output_directory(const Deck& deck) {
  return deck.table("output").text({.name = "directory", .doc = "folder of a run; -d goes first"},
                                   "runs/run");
}

RunSettings RunSettings::read(const Deck& deck, Index context) {
  RunSettings s;
  read_top(deck, s);
  read_run(deck, s);
  s.data = DataSettings::read(deck);
  read_batch(deck, context, s);
  return s;
}

}  // namespace lexikos

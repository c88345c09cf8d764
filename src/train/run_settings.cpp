#include "train/run_settings.hpp"

#include "data/tokens/frequency_bins.hpp"
#include "utils/error.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

void read_top(const Deck& deck, RunSettings& s) {
  s.job = read_job(deck);
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
  const DeckTable evaluate = deck.table("evaluate");
  s.requests_file = evaluate.text(
      {.name = "requests",
       .doc =
           "path of a requests.h5 that the job evaluate scores instead of the validation tokens"},
      "");
  s.share_contexts = evaluate.flag({.name = "share_contexts",
                                    .doc = "compute a context that choices share once; false: with "
                                           "each (the same numbers, slower)"},
                                   true);
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

/// The table of a job; of another job its keys are only checked.
DeckTable table_of_job(const Deck& deck, const std::string& name, const std::string& job) {
  return job == name ? deck.table(name) : deck.idle_table(name);
}

void read_export(const Deck& deck, RunSettings& s) {
  const DeckTable table = table_of_job(deck, "export", s.job);
  s.exporting.bf16 = table.choice({.name = "precision", .doc = "of the weights that are written"},
                                  "fp32", {"fp32", "bf16"}) == "bf16";
  s.exporting.shard_bytes = table.integer(
      {.name = "shard_bytes", .doc = "of one file of weights, at most", .unit = "bytes"},
      5'000'000'000, AtLeast(1));
  s.exporting.tokenizer = table.text(
      {.name = "tokenizer", .doc = "folder or file of the tokenizer, to be copied along"}, "");
}

void read_sample(const Deck& deck, RunSettings& s) {
  const DeckTable table = table_of_job(deck, "sample", s.job);
  SampleSettings& x = s.sampling;
  x.prompt_ids = table.integers({.name = "prompt_ids", .doc = "ids that are continued"}, {},
                                Between(0, 4294967295.0));
  x.prompt_file = table.text(
      {.name = "prompt_file", .doc = "the same in a text file, as prepare.py encode writes it"},
      "");
  if (x.prompt_ids.empty() == x.prompt_file.empty() && s.job == "sample") {
    fail(Status::deck, "give the prompt in one of sample.prompt_ids and sample.prompt_file");
  }
  x.tokens =
      table.integer({.name = "tokens", .doc = "of a continuation, at most", .unit = "tokens"}, 100,
                    NonNegative{});
  x.samples =
      table.integer({.name = "samples", .doc = "continuations of the prompt"}, 1, AtLeast(1));
  x.temperature =
      table.real({.name = "temperature", .doc = "divides the logits; 0: always the likeliest id"},
                 1.0, NonNegative{});
  x.top_p = table.real(
      {.name = "top_p", .doc = "the likeliest ids that have this share of the probability remain"},
      1.0, Above(0) && AtMost(1));
  x.seed = static_cast<std::uint64_t>(
      table.integer({.name = "seed", .doc = "of the draws"}, 1, NonNegative{}));
  x.stop_id =
      table.integer({.name = "stop_id", .doc = "id that ends a sample; -1: none"}, -1, AtLeast(-1));
  x.logits = table.flag(
      {.name = "logits", .doc = "write the logits of the prompt and the first sample to logits.h5"},
      false);
}

}  // namespace

std::string read_job(const Deck& deck) {
  return deck.table("").choice(
      {.name = "job",
       .doc = "train a model, evaluate a checkpoint, bake its input interface into a table, export "
              "it for transformers, import a Llama from there, continue a prompt, time a step, "
              "measure embedding matrices, or pack vectors"},
      "train",
      {"train", "evaluate", "bake", "export", "import", "sample", "bench", "capacity", "packing"});
}

std::string read_import_folder(const DeckTable& table) {
  return table.text({.name = "folder", .doc = "config.json and safetensors of a Llama"}, required);
}

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
  read_export(deck, s);
  read_sample(deck, s);
  s.import_folder = read_import_folder(table_of_job(deck, "import", s.job));
  return s;
}

}  // namespace lexikos

#include "train/settings.hpp"

#include <algorithm>
#include <limits>

#include "data/tokens/frequency_bins.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

/// Of a step: more than any model was trained with, and few enough to count bytes of.
constexpr double most_tokens = 0x1p32;

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

}  // namespace

RunSettings RunSettings::read(const Deck& deck) {
  const DeckTable table = deck.table("run");
  RunSettings s;
  s.steps = table.integer({.name = "steps", .doc = "optimizer steps", .unit = "steps"}, required,
                          Between(1, 1e12));
  s.log_every =
      table.integer({.name = "log_every", .doc = "between lines on the console", .unit = "steps"},
                    20, Between(1, 1e12));
  s.gemm_rate =
      table.flag({.name = "gemm_rate",
                  .doc = "measure the GEMM rate at start (two seconds), to report shares"},
                 true);
  return s;
}

ValidationSettings ValidationSettings::read(const Deck& deck) {
  const DeckTable table = deck.table("validation");
  ValidationSettings s;
  s.every = table.integer(
      {.name = "every", .doc = "between evaluations; 0: at the end only", .unit = "steps"}, 0,
      Between(0, 1e12));
  s.tokens = table.integer(
      {.name = "tokens",
       .doc = "targets of an evaluation, in windows spread evenly over the split; 0: all",
       .unit = "tokens"},
      0, Between(0, 1e15));
  s.frequency_edges = table.reals(
      {.name = "frequency_edges",
       .doc = "between the bins of relative frequency in training by which the loss is sorted",
       .unit = "increasing"},
      {1e-7, 1e-6, 1e-5, 1e-4}, Above(0) && Below(1));
  check_edges(table, s.frequency_edges);
  return s;
}

GeometrySettings GeometrySettings::read(const Deck& deck) {
  return {deck.table("geometry")
              .integer({.name = "every",
                        .doc = "between measurements of the cosines of all pairs of embedding "
                               "rows; 0: never",
                        .unit = "steps"},
                       0, Between(0, 1e12))};
}

CheckpointSettings CheckpointSettings::read(const Deck& deck) {
  const DeckTable table = deck.table("checkpoint");
  CheckpointSettings s;
  s.every = table.integer(
      {.name = "every", .doc = "between checkpoints; 0: at the end only", .unit = "steps"}, 0,
      Between(0, 1e12));
  s.retention.newest = table.integer(
      {.name = "keep", .doc = "newest checkpoints that stay; 0: all"}, 2, Between(0, 1e12));
  s.retention.forever =
      table.integer({.name = "keep_every",
                     .doc = "those of a step that is a multiple of this stay for ever too; 0: none",
                     .unit = "steps"},
                    0, Between(0, 1e12));
  if (s.retention.forever > 0 && s.every > 0 && s.retention.forever % s.every != 0) {
    table.reject("keep_every",
                 "is not a multiple of checkpoint.every = " + std::to_string(s.every));
  }
  return s;
}

BatchSettings BatchSettings::read(const Deck& deck, Index context) {
  const DeckTable table = deck.table("batch");
  BatchSettings s;
  s.tokens = table.integer({.name = "tokens",
                            .doc = "targets of a step over all ranks; a multiple of context",
                            .unit = "tokens",
                            .default_note = "8 context"},
                           8 * context, Between(1, most_tokens));
  s.micro_batch = table.integer({.name = "micro_batch",
                                 .doc = "sequences in one pass; 0: a rank's whole share",
                                 .unit = "sequences"},
                                0, Between(0, 1e12));
  if (s.tokens % context != 0) {
    table.reject("tokens", "is not a multiple of transformer.context = " + std::to_string(context));
  }
  s.sequences = s.tokens / context;
  return s;
}

std::uint64_t read_seed(const Deck& deck) {
  return static_cast<std::uint64_t>(deck.table("").integer(
      {.name = "seed", .doc = "of initial values and data order"}, 1, Between(0, 0x1p63)));
}

std::string read_output_directory(const Deck& deck) {
  const DeckTable table = deck.table("output");
  const std::string folder =
      table.path({.name = "directory", .doc = "folder of a run; -d goes first"}, "runs/run");
  if (folder.empty()) table.reject("directory", "names no folder");
  return folder;
}

MemberSettings MemberSettings::read(const Deck& deck, const std::string& member,
                                    const std::string& root) {
  MemberSettings s;
  s.model = ModelSettings::read(deck);
  s.seed = read_seed(deck);
  s.directory = read_output_directory(deck);
  s.run = RunSettings::read(deck);
  s.validation = ValidationSettings::read(deck);
  s.geometry = GeometrySettings::read(deck);
  s.checkpoint = CheckpointSettings::read(deck);
  s.data = DataSettings::read(deck);
  s.batch = BatchSettings::read(deck, s.model.transformer.context);
  if (s.run.steps > std::numeric_limits<Index>::max() / s.batch.tokens) {
    deck.table("run").reject("steps", "times batch.tokens = " + std::to_string(s.batch.tokens) +
                                          " is 2^63 tokens or more");
  }
  s.adamw = AdamWSettings::read(deck);
  s.schedule = Schedule::read(deck, s.run.steps);
  s.parallel = ParallelSettings::read(deck);
  s.spike_guard = SpikeGuardSettings::read(deck);
  s.resolved_deck = deck.resolved();
  s.member = member;
  if (!root.empty()) s.directory = root;
  if (!member.empty()) s.directory += "/" + member;
  return s;
}

ModelSizes MemberSettings::sizes(Index vocabulary, int ranks) const {
  ModelSizes sizes;
  sizes.vocabulary = vocabulary;
  sizes.rank_sequences = share_of(batch.sequences, 0, ranks).size();
  sizes.micro_batch = batch.micro_batch == 0 ? sizes.rank_sequences
                                             : std::min(batch.micro_batch, sizes.rank_sequences);
  return sizes;
}

}  // namespace lexikos

// What the driver itself reads from a deck: everything but the packages' and the optimizer's keys.
#pragma once

#include <string>
#include <vector>

#include "data/settings.hpp"
#include "deck/deck.hpp"
#include "kokkos_types.hpp"
#include "outputs/checkpoint.hpp"

namespace lexikos {

/// What job = "export" reads.
struct ExportSettings {
  bool bf16 = false;      // else fp32
  Index shard_bytes = 0;  // of one file, at most
  std::string tokenizer;  // a folder or a file to copy; "": none
};

/// What job = "sample" reads.
struct SampleSettings {
  std::vector<std::int64_t> prompt_ids;  // the prompt, or
  std::string prompt_file;               // a text file of ids
  Index tokens = 0;                      // of a continuation, at most
  Index samples = 0;                     // continuations of the prompt
  double temperature = 1.0;              // 0: the likeliest id
  double top_p = 1.0;
  std::uint64_t seed = 0;
  Index stop_id = -1;   // ends a sample; -1: none does
  bool logits = false;  // write those of every position of the prompt and the first sample
};

struct RunSettings {
  std::string job;         // "train", "evaluate", "bake", "export", "import", "sample" or "bench"
  std::uint64_t seed = 0;  // of initial values and of the data order
  std::string directory;   // of the outputs

  Index steps = 0;
  Index log_every = 0;     // steps
  bool gemm_rate = false;  // measure it at start, to report each step's share

  DataSettings data;

  Index batch_tokens = 0;     // of a step, over all ranks
  Index batch_sequences = 0;  // the same in sequences
  Index micro_batch = 0;      // sequences; 0: a rank's whole share

  Index validation_every = 0;           // steps; 0: at the end only
  Index validation_tokens = 0;          // 0: all
  std::vector<double> frequency_edges;  // of the bins that the loss is stratified by

  std::string requests_file;   // that the job evaluate scores; empty: the validation tokens
  bool share_contexts = true;  // of a question's choices

  Index geometry_every = 0;  // steps; 0: never

  Index checkpoint_every = 0;  // steps; 0: at the end only
  Retention retention;

  ExportSettings exporting;
  SampleSettings sampling;
  std::string import_folder;  // of the weights that job = "import" reads

  /// `context` is the transformer's T. Throws Error(deck).
  static RunSettings read(const Deck& deck, Index context);
};

/// Key `folder` of the deck's table [import].
std::string read_import_folder(const DeckTable& table);

/// What every kind of job reads: the deck's job, seed and output.directory.
std::string read_job(const Deck& deck);
std::uint64_t read_seed(const Deck& deck);
std::string read_output_directory(const Deck& deck);

}  // namespace lexikos

// job = "import": a Llama in the layout of Hugging Face's transformers becomes a model here.
#pragma once

#include "jobs/job.hpp"

namespace lexikos {

/// Completes the deck with the model that import.folder describes: [transformer],
/// embedding.interface (`tied` or `untied`) and data.vocabulary_size as its config.json has them.
/// transformer.context may be less than the folder's; any other of these keys has to agree: else
/// Error(deck). Error(file) where the model is not supported (read_llama_config).
///
/// The job writes into the run's folder
///   checkpoint_00000000.h5   the folder's weights, moments zero
///   deck.toml                the deck with which it is evaluated, trained on or exported
/// Weights in F32, F16 or BF16 keep their values. Throws Error(file): a tensor that is missing, not
/// expected, of another shape or type; a folder that holds checkpoints. Needs no tokens file.
std::unique_ptr<Job> read_import(JobDeck& from);

/// Checks table [import] of another job's deck.
void check_import(const Deck& deck);

}  // namespace lexikos

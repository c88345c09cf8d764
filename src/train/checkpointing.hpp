// A training run's checkpoints: written, old ones removed, and gone on from.
#pragma once

#include <string>

#include "console/console.hpp"
#include "data/open_data.hpp"
#include "outputs/checkpoint.hpp"
#include "parallel/communicator.hpp"
#include "train/trained_model.hpp"
#include "train/trainer.hpp"

namespace lexikos {

/// Writes checkpoint_<step>.h5 of the trainer's model and history into the member's folder, and
/// removes those that the deck does not keep. Collective. Throws Error(file).
void save_checkpoint(const MemberSettings& settings, const RunData& data, const Trainer& trainer,
                     const Communicator& comm);

/// Seconds that a checkpoint of a model surely takes: until one was timed.
double checkpoint_estimate(const Model<float>& model);

/// What of a checkpoint can be checked without tokens and model: throws Error(deck) or Error(file)
/// where a run with these settings could not go on from it. Says on the console what was allowed.
void check_restart(const CheckpointHeader& header, const std::string& path,
                   const MemberSettings& settings, const UsedTokenizer& tokenizer,
                   Console& console);

/// Puts model, history and trainer where they were when a checkpoint was written; says so on the
/// console. Collective. Throws Error(file) or Error(deck) where it does not fit deck or tokens.
void restart(Trainer& trainer, const std::string& path, const MemberSettings& settings,
             const RunData& data, const Communicator& comm, Console& console);

}  // namespace lexikos

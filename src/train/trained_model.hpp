// A trained model out of a checkpoint, for the jobs that use one.
#pragma once

#include <memory>
#include <string>

#include "console/console.hpp"
#include "data/open_data.hpp"
#include "model.hpp"
#include "outputs/checkpoint.hpp"
#include "parallel/communicator.hpp"
#include "train/settings.hpp"

namespace lexikos {

/// The checkpoint that a job on a trained model uses: `asked` (a file, or "latest" or "" for the
/// newest of `folder`). Collective. Throws Error(file) where there is none.
std::string trained_checkpoint(const std::string& asked, const std::string& folder,
                               const Communicator& comm, Console& console);

/// V of the model in a checkpoint: the rows of its head. For jobs that need no tokens. Throws
/// Error(file).
Index checkpoint_vocabulary(const std::string& path);

/// The tokenizer of the ids that a job brings along.
struct UsedTokenizer {
  std::string name, hash;  ///< "": not known, and nothing is compared
  std::string source;      ///< what the ids are: "data.tokens"
  std::string advice;      ///< of the message where another tokenizer was trained on
};

/// That of a run's tokens.
UsedTokenizer tokenizer_of(const RunData& data);

/// Throws where the checkpoint was made with another model than the deck's although names and
/// shapes agree (another seed of a code, another knot layout): Error(deck) naming the first key of
/// [embedding] or [transformer] that differs. Or with tokens of another tokenizer: Error(file).
void check_checkpoint(const CheckpointHeader& header, const std::string& path,
                      const std::string& resolved_deck, const UsedTokenizer& tokenizer);

class TrainedModel {
 public:
  /// Reads the parameters in `path` into a model of these settings and sizes, ready for evaluation.
  /// Not collective: each rank that calls it reads the file. Throws as check_checkpoint, and
  /// Error(file).
  static std::unique_ptr<TrainedModel> open(const std::string& path, const MemberSettings& settings,
                                            const ModelSizes& sizes,
                                            const UsedTokenizer& tokenizer);

  /// "member lev, runs/a/lev/checkpoint_00000192.h5, step 192".
  std::string text(const std::string& member) const;
  /// The checkpoint's name without its folder.
  std::string file_name() const;
  /// The id between documents that it was trained with; -1 where the checkpoint does not say.
  Index end_of_text() const;

  std::string path;
  Model<float> model;
  CheckpointHeader header;

 private:
  TrainedModel(const std::string& path, const MemberSettings& settings, const ModelSizes& sizes,
               const UsedTokenizer& tokenizer);
};

}  // namespace lexikos

// The deck's [data]: which token files a run reads, and how.
#pragma once

#include <string>
#include <vector>

#include "data/batches/step_batch.hpp"
#include "data/tokens/token_formats.hpp"
#include "deck/deck.hpp"

namespace lexikos {

/// One source of training tokens: files end to end.
struct SourceSettings {
  std::string name;  ///< in [data.mixture]; "" where there is one source
  std::vector<std::string> files;
  std::string format;
  double weight = 1;
};

struct DataSettings {
  bool synthetic = false;               ///< made-up ids, no files
  std::vector<SourceSettings> sources;  ///< of training
  std::vector<std::string> validation;  ///< files; empty: the split of the training files
  std::string format;                   ///< of the validation files
  Index vocabulary_size = 0;            ///< 0: the tokens file's
  Index end_of_text = -1;               ///< -1: as the files say
  bool cross_shards = true;
  bool document_mask = false;
  bool allow_changed = false;
  bool read_ahead = true;
  Index counted_tokens = 0;  ///< at most, for training frequencies; 0: all

  /// Throws Error(deck).
  static DataSettings read(const Deck& deck);

  [[nodiscard]] TokenRules rules(const std::string& format_of_file) const {
    return {format_of_file, vocabulary_size, end_of_text};
  }
  [[nodiscard]] BatchOptions batch_options() const { return {read_ahead, document_mask}; }
};

}  // namespace lexikos

// The token sources of a run and what is known of the text behind them.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "data/batches/samples.hpp"
#include "data/settings.hpp"
#include "data/tokens/token_source.hpp"
#include "parallel/communicator.hpp"

namespace lexikos {

/// A source of training tokens.
struct TrainSource {
  std::unique_ptr<TokenSource> tokens;
  double weight = 1;
  std::string name;  ///< in the mixture; "" where there is one source
};

struct RunData {
  std::vector<TrainSource> train;
  std::unique_ptr<TokenSource> validation;  // null where there is none
  Index vocabulary = 0;
  /// Of each id in the training tokens; empty: unknown. Of a mixture: in proportion to the weights,
  /// so that the relative frequencies are those of what training draws.
  std::vector<std::uint64_t> train_counts;
  double validation_bytes_per_token = std::numeric_limits<double>::quiet_NaN();
  double validation_words_per_token = std::numeric_limits<double>::quiet_NaN();
  std::string tokenizer, tokenizer_hash;
  Index end_of_text = -1;  // id between documents; -1: unknown
  std::string source;
  std::string fingerprint;  ///< of the token files (data/tokens/fingerprint.hpp); "" for a formula

  /// For a loader; valid as long as this object's sources.
  [[nodiscard]] std::vector<WeightedSource> weighted_sources() const;
};

/// Only the vocabulary, for a dry run: the deck's, else the file's.
Index read_vocabulary(const DataSettings& settings);

/// Opens the sources; collective. Synthetic tokens come of `seed`. Each rank checks the ids of its
/// share of a source of moderate size; a larger one is checked batch by batch. Training counts come
/// from the files or from the ids, of which each rank counts its share. Throws Error(file) or
/// Error(deck) on all ranks.
RunData open_data(const DataSettings& settings, std::uint64_t seed, const Communicator& comm);

/// A line a source: format, tokens, windows of `context` and the tokens that no window reads.
std::vector<std::string> data_lines(const RunData& data, Index context);

/// Cross entropy (nats per token) of the targets of an evaluation of `tokens` targets (0: all) in
/// contexts of `context` tokens under the frequencies of single tokens in training; NaN where these
/// are unknown.
double unigram_nats(const RunData& data, Index tokens, Index context);

}  // namespace lexikos

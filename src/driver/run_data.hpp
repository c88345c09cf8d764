// The token sources of a run and what is known of the text behind them.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "data/token_source.hpp"
#include "driver/run_settings.hpp"
#include "parallel/communicator.hpp"

namespace lexikos {

struct RunData {
  std::unique_ptr<TokenSource> train, validation;  // validation is null where there is none
  Index vocabulary = 0;
  std::vector<std::uint64_t> train_counts;  // of each id in the training tokens; empty: unknown
  double validation_bytes_per_token = std::numeric_limits<double>::quiet_NaN();
  double validation_words_per_token = std::numeric_limits<double>::quiet_NaN();
  std::string tokenizer, tokenizer_hash;
  Index end_of_text = -1;  // id between documents; -1: unknown
  std::string source;
};

/// The vocabulary alone, for a dry run: the deck's, else the file's.
Index read_vocabulary(const RunSettings& settings);

/// Opens the sources; collective. Each rank checks the ids of its share of a file of moderate
/// size; a larger one is checked batch by batch. Throws Error(file) or Error(deck) on all ranks.
RunData open_data(const RunSettings& settings, const Communicator& comm);

/// Cross entropy (nats per token) of the targets of an evaluation in contexts of `context` tokens
/// under the frequencies of single tokens in training; NaN where these are unknown.
double unigram_nats(const RunSettings& settings, const RunData& data, Index context);

}  // namespace lexikos

#include "driver/run_data.hpp"

#include "data/step_batch.hpp"
#include "data/synthetic_tokens.hpp"
#include "data/token_file.hpp"
#include "data/unigram.hpp"

namespace lexikos {
namespace {

/// Files up to this many tokens are checked whole before training.
constexpr Index checked_at_start = Index{1} << 30;

/// Tokens that stand for a text in a benchmark.
constexpr Index synthetic_size = Index{1} << 22;

/// Ids must come from somewhere.
void require_source(const RunSettings& settings) {
  if (settings.synthetic && settings.vocabulary_size == 0) {
    fail(Status::deck, "data.vocabulary_size is needed with data.source = \"synthetic\"");
  }
  if (!settings.synthetic && settings.tokens_file.empty()) {
    fail(Status::deck,
         "data.tokens is needed: the path of a tokens.h5 (see inputs/prepare/README.md)");
  }
}

/// The deck may pad the vocabulary, never cut it.
Index agreed_vocabulary(const RunSettings& settings, Index of_file) {
  if (settings.vocabulary_size == 0) return of_file;
  if (settings.vocabulary_size < of_file) {
    fail(Status::deck, "data.vocabulary_size = " + std::to_string(settings.vocabulary_size) +
                           " is less than the " + std::to_string(of_file) + " of '" +
                           settings.tokens_file + "'; leave it out or raise it");
  }
  return settings.vocabulary_size;
}

void check_share(const TokenFile& file, const Communicator& comm) {
  if (file.size() > checked_at_start) return;
  const Share share = share_of(file.size(), comm.rank(), comm.size());
  file.check_ids(share.begin, share.end);
}

RunData synthetic_data(const RunSettings& settings) {
  RunData data;
  data.vocabulary = settings.vocabulary_size;
  data.train = std::make_unique<SyntheticTokens>(data.vocabulary, synthetic_size, settings.seed);
  data.validation =
      std::make_unique<SyntheticTokens>(data.vocabulary, synthetic_size / 16, settings.seed + 1);
  data.source = "synthetic tokens";
  return data;
}

}  // namespace

Index read_vocabulary(const RunSettings& settings) {
  if (settings.vocabulary_size > 0) return settings.vocabulary_size;
  require_source(settings);
  return TokenFile(settings.tokens_file, "train").vocabulary_size();
}

RunData open_data(const RunSettings& settings, const Communicator& comm) {
  require_source(settings);
  if (settings.synthetic) return synthetic_data(settings);
  RunData data;
  const TokenFile* counted = nullptr;  // data.train, as what it is
  comm.on_all([&] {
    auto train = std::make_unique<TokenFile>(settings.tokens_file, "train");
    auto validation = std::make_unique<TokenFile>(settings.tokens_file, "validation");
    data.vocabulary = agreed_vocabulary(settings, train->vocabulary_size());
    check_share(*train, comm);
    check_share(*validation, comm);
    const double tokens = static_cast<double>(validation->size());
    const TokenFileInfo& info = validation->info();
    if (info.source_bytes >= 0) data.validation_bytes_per_token = info.source_bytes / tokens;
    if (info.source_words >= 0) data.validation_words_per_token = info.source_words / tokens;
    data.tokenizer = info.tokenizer;
    data.tokenizer_hash = info.tokenizer_hash;
    data.end_of_text = info.end_of_text;
    data.source = info.source;
    counted = train.get();
    data.train = std::move(train);
    data.validation = std::move(validation);
  });
  // Once all ranks have found their ids good: an id out of range makes the counts wrong as well.
  comm.on_all([&] { data.train_counts = counted->train_counts(); });
  return data;
}

double unigram_nats(const RunSettings& settings, const RunData& data, Index context) {
  if (data.train_counts.empty()) return std::numeric_limits<double>::quiet_NaN();
  const WindowSelection windows =
      select_windows(*data.validation, context, settings.validation_tokens);
  return unigram_cross_entropy(data.train_counts,
                               count_targets(*data.validation, context, windows))
      .nats;
}

}  // namespace lexikos

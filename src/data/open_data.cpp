#include "data/open_data.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/tokens/concatenated_tokens.hpp"
#include "data/tokens/fingerprint.hpp"
#include "data/tokens/synthetic_tokens.hpp"
#include "data/tokens/token_scan.hpp"
#include "data/tokens/unigram.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

/// Sources up to this many tokens are checked whole before training.
constexpr Index checked_at_start = Index{1} << 30;

/// Tokens that stand for a text in a benchmark.
constexpr Index synthetic_size = Index{1} << 22;

/// Ids must come from somewhere.
void require_source(const DataSettings& settings) {
  if (settings.synthetic && settings.vocabulary_size == 0) {
    fail(Status::deck, "data.vocabulary_size is needed with data.source = \"synthetic\"");
  }
  if (!settings.synthetic && settings.sources.empty()) {
    fail(Status::deck,
         "data.tokens is needed: the path of a tokens.h5 (see inputs/prepare/README.md)");
  }
}

/// The deck may pad the vocabulary, never cut it.
Index agreed_vocabulary(const DataSettings& settings, const TokenSource& source) {
  const Index of_file = source.vocabulary_size();
  if (settings.vocabulary_size == 0) return of_file;
  if (settings.vocabulary_size < of_file) {
    fail(Status::deck, "data.vocabulary_size = " + std::to_string(settings.vocabulary_size) +
                           " is less than the " + std::to_string(of_file) + " of '" +
                           source.name() + "'; leave it out or raise it");
  }
  return settings.vocabulary_size;
}

std::unique_ptr<TokenSource> open_shards(const DataSettings& settings,
                                         const std::vector<std::string>& files,
                                         const std::string& format, const std::string& split) {
  std::vector<std::unique_ptr<TokenSource>> shards;
  for (const std::string& path : files) {
    shards.push_back(open_tokens(path, split, settings.rules(format)));
  }
  if (shards.size() == 1) return std::move(shards.front());
  return std::make_unique<ConcatenatedTokens>(std::move(shards), settings.cross_shards);
}

/// The files of data.validation, or the validation split of every training file.
std::unique_ptr<TokenSource> open_validation(const DataSettings& settings) {
  if (!settings.validation.empty()) {
    return open_shards(settings, settings.validation, settings.format, "validation");
  }
  if (settings.sources.size() > 1) {
    fail(Status::deck, "data.validation is needed beside [data.mixture]");
  }
  const SourceSettings& source = settings.sources.front();
  for (const std::string& path : source.files) {
    if (!has_splits(path)) {
      fail(Status::deck, "data.validation is needed: '" + path + "' has no validation split");
    }
  }
  return open_shards(settings, source.files, source.format, "validation");
}

void check_share(const TokenSource& source, const Communicator& comm) {
  check_sample(source);
  if (source.size() > checked_at_start) return;
  const Share share = share_of(source.size(), comm.rank(), comm.size());
  check_ids(source, share.begin, share.end);
}

RunData synthetic_data(const DataSettings& settings, std::uint64_t seed) {
  RunData data;
  data.vocabulary = settings.vocabulary_size;
  data.train.push_back(
      {std::make_unique<SyntheticTokens>(data.vocabulary, synthetic_size, seed), 1.0, ""});
  data.validation =
      std::make_unique<SyntheticTokens>(data.vocabulary, synthetic_size / 16, seed + 1);
  data.source = "synthetic tokens";
  return data;
}

void open_training(const DataSettings& settings, RunData& data) {
  for (const SourceSettings& source : settings.sources) {
    auto tokens = open_shards(settings, source.files, source.format, "train");
    data.vocabulary = std::max(data.vocabulary, agreed_vocabulary(settings, *tokens));
    data.train.push_back({std::move(tokens), source.weight, source.name});
  }
}

void describe_text(RunData& data) {
  const TextInfo info = data.validation->text_info();
  const double tokens = static_cast<double>(data.validation->size());
  if (info.source_bytes > 0) data.validation_bytes_per_token = info.source_bytes / tokens;
  if (info.source_words > 0) data.validation_words_per_token = info.source_words / tokens;
  data.tokenizer = info.tokenizer;
  data.tokenizer_hash = info.tokenizer_hash;
  data.end_of_text = info.end_of_text;
  data.source = info.source;
  for (const TrainSource& source : data.train) {
    const std::string hash = source.tokens->text_info().tokenizer_hash;
    if (hash.empty() || data.tokenizer_hash.empty() || hash == data.tokenizer_hash) continue;
    fail(Status::file, "'" + source.tokens->name() + "' was made with another tokenizer than '" +
                           data.validation->name() + "'; their ids mean different pieces of text");
  }
}

/// Collective: the counts that the file states, or those of at most `most` tokens.
std::vector<std::uint64_t> counts_of(const TokenSource& source, Index most,
                                     const Communicator& comm) {
  std::vector<std::uint64_t> counts;
  bool counted = false;
  comm.on_all([&] {
    counts = source.stated_counts();
    counted = counts.empty();
    if (counted) counts = count_share(source, most, comm.rank(), comm.size());
  });
  if (!counted || comm.size() == 1) return counts;
  std::vector<double> sums(counts.begin(), counts.end());  // exact below 2^53
  comm.sum(sums);
  return {sums.begin(), sums.end()};
}

/// Adds the counts of one source of a mixture, scaled to `share` of `tokens` tokens. An id that
/// occurs stays one that occurs.
void add_scaled(std::vector<std::uint64_t>& sum, const std::vector<std::uint64_t>& counts,
                double share, double tokens) {
  const auto total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  if (sum.size() < counts.size()) sum.resize(counts.size(), 0);
  for (std::size_t id = 0; id < counts.size(); ++id) {
    if (counts[id] == 0) continue;
    const double scaled =
        static_cast<double>(counts[id]) / static_cast<double>(total) * share * tokens;
    sum[id] += static_cast<std::uint64_t>(std::max(1.0, std::round(scaled)));
  }
}

/// Collective: the root reads, for all.
std::string fingerprint(const RunData& data, const Communicator& comm) {
  std::string text;
  comm.on_root([&] {
    std::vector<RoleFile> files;
    const auto add = [&](const std::string& role, const TokenSource& source) {
      for (const std::string& path : source.files()) files.push_back({role, path});
    };
    for (const TrainSource& source : data.train) {
      add(source.name.empty() ? "train" : "train:" + source.name, *source.tokens);
    }
    add("validation", *data.validation);
    text = fingerprint_of(files);
  });
  return comm.broadcast(text);
}

std::vector<std::uint64_t> count_sources(const RunData& data, Index most,
                                         const Communicator& comm) {
  if (data.train.size() == 1) return counts_of(*data.train.front().tokens, most, comm);
  double weights = 0, tokens = 0;
  for (const TrainSource& source : data.train) {
    weights += source.weight;
    tokens += static_cast<double>(source.tokens->size());
  }
  std::vector<std::uint64_t> sum;
  for (const TrainSource& source : data.train) {
    add_scaled(sum, counts_of(*source.tokens, most, comm), source.weight / weights, tokens);
  }
  return sum;
}

}  // namespace

std::vector<WeightedSource> RunData::weighted_sources() const {
  std::vector<WeightedSource> sources;
  for (const TrainSource& source : train) sources.push_back({source.tokens.get(), source.weight});
  return sources;
}

Index read_vocabulary(const DataSettings& settings) {
  if (settings.vocabulary_size > 0) return settings.vocabulary_size;
  require_source(settings);
  RunData data;
  open_training(settings, data);
  return data.vocabulary;
}

RunData open_data(const DataSettings& settings, std::uint64_t seed, const Communicator& comm) {
  require_source(settings);
  if (settings.synthetic) return synthetic_data(settings, seed);
  RunData data;
  comm.on_all([&] {
    open_training(settings, data);
    data.validation = open_validation(settings);
    data.vocabulary = std::max(data.vocabulary, agreed_vocabulary(settings, *data.validation));
    describe_text(data);
    for (const TrainSource& source : data.train) check_share(*source.tokens, comm);
    check_share(*data.validation, comm);
  });
  // Once all ranks have found their ids good: an id out of range makes the counts wrong as well.
  data.train_counts = count_sources(data, settings.counted_tokens, comm);
  data.fingerprint = fingerprint(data, comm);
  return data;
}

std::vector<std::string> data_lines(const RunData& data, Index context) {
  double weights = 0;
  for (const TrainSource& source : data.train) weights += source.weight;
  std::vector<std::string> lines;
  for (const TrainSource& source : data.train) {
    const TokenSource& tokens = *source.tokens;
    const Index windows = window_count(tokens, context);
    std::string line = "data " + (source.name.empty() ? "" : source.name + " ") + tokens.format() +
                       ": " + format_count(tokens.size()) + " tokens, " + format_count(windows) +
                       " windows of " + std::to_string(context) + " an epoch, " +
                       format_count(tokens.size() - windows * context) + " tokens left over";
    if (data.train.size() > 1) {
      line += "; " + format_count(std::lround(1000 * source.weight / weights)) + " of 1000 samples";
    }
    lines.push_back(line + (tokens.reads_on_any_thread() ? "" : "; not read ahead"));
  }
  return lines;
}

double unigram_nats(const RunData& data, Index tokens, Index context) {
  if (data.train_counts.empty()) return std::numeric_limits<double>::quiet_NaN();
  const WindowSelection windows = select_windows(*data.validation, context, tokens);
  return unigram_cross_entropy(data.train_counts, count_targets(*data.validation, context, windows))
      .nats;
}

}  // namespace lexikos

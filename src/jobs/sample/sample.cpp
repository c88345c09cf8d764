#include "jobs/sample/sample.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "hdf5/file.hpp"
#include "jobs/model_job.hpp"
#include "jobs/sample/generator.hpp"
#include "jobs/sample/token_choice.hpp"
#include "train/member_files.hpp"
#include "train/provenance.hpp"
#include "train/trained_model.hpp"
#include "utils/error.hpp"
#include "utils/finite.hpp"
#include "utils/text.hpp"
#include "utils/text_file.hpp"

namespace lexikos {
namespace {

using Ids = std::vector<TokenId>;

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

SampleSettings read_settings(const DeckTable& table) {
  SampleSettings s;
  s.prompt_ids = table.integers({.name = "prompt_ids", .doc = "ids that are continued"}, {},
                                Between(0, 0x1p32));
  s.prompt_file = table.path(
      {.name = "prompt_file", .doc = "the same in a text file, as prepare.py encode writes it"},
      "");
  s.tokens =
      table.integer({.name = "tokens", .doc = "of a continuation, at most", .unit = "tokens"}, 100,
                    Between(0, 1 << 24));
  s.samples =
      table.integer({.name = "samples", .doc = "continuations of the prompt"}, 1, Between(1, 1e6));
  s.temperature =
      table.real({.name = "temperature", .doc = "divides the logits; 0: always the likeliest id"},
                 1.0, Between(0, 1e6));
  s.top_p = table.real(
      {.name = "top_p", .doc = "the likeliest ids that have this share of the probability remain"},
      1.0, Above(0) && AtMost(1));
  s.seed = static_cast<std::uint64_t>(
      table.integer({.name = "seed", .doc = "of the draws"}, 1, Between(0, 0x1p63)));
  s.stop_id = table.integer({.name = "stop_id", .doc = "id that ends a sample; -1: none"}, -1,
                            Between(-1, 0x1p32));
  s.logits = table.flag(
      {.name = "logits", .doc = "write the logits of the prompt and the first sample to logits.h5"},
      false);
  return s;
}

void check_prompt(const SampleSettings& s) {
  if (s.prompt_ids.empty() != s.prompt_file.empty()) return;
  fail(Status::deck, "give the prompt in one of sample.prompt_ids and sample.prompt_file");
}

/// Whole numbers separated by blanks and line ends; what follows '#' in a line is a remark.
std::vector<std::int64_t> read_ids(const std::string& path) {
  std::ifstream file(path);
  if (!file) fail(Status::file, "cannot read '" + path + "'; check sample.prompt_file");
  std::vector<std::int64_t> ids;
  std::string line;
  for (Index number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    for (std::string word; words >> word;) {
      if (word.size() > 10 || word.find_first_not_of("0123456789") != std::string::npos) {
        fail(Status::file, "'" + path + "' line " + std::to_string(number) + ": '" + word +
                               "' is no token id; make the file with inputs/prepare/prepare.py "
                               "encode");
      }
      ids.push_back(std::stoll(word));
    }
  }
  return ids;
}

Ids prompt_of(const SampleSettings& s, Index vocabulary, Index context) {
  const bool from_file = !s.prompt_file.empty();
  const std::string name = from_file ? "'" + s.prompt_file + "'" : "sample.prompt_ids";
  const std::vector<std::int64_t> given = from_file ? read_ids(s.prompt_file) : s.prompt_ids;
  if (given.empty()) fail(Status::deck, name + " has no ids; a prompt has at least one");
  if (static_cast<Index>(given.size()) > context) {
    fail(Status::deck, name + " has " + std::to_string(given.size()) +
                           " ids and the model sees T = " + std::to_string(context) +
                           "; shorten the prompt");
  }
  for (const std::int64_t id : given) {
    if (id >= vocabulary) {
      fail(Status::deck, name + " has id " + std::to_string(id) + " and the model knows " +
                             std::to_string(vocabulary) + "; was another tokenizer used?");
    }
  }
  return {given.begin(), given.end()};
}

std::string text_of(const Ids& ids) {
  std::string text;
  for (const TokenId id : ids) text += (text.empty() ? "" : " ") + std::to_string(id);
  return text;
}

/// The continuations of one group of samples, side by side, and the logits of the first where they
/// are asked for.
class Continuation {
 public:
  Continuation(const SampleSettings& settings, Generator<float>& generator, const Ids& prompt,
               Index first, Index count, std::vector<float>* logits, Index vocabulary)
      : settings_(settings),
        generator_(generator),
        first_(first),
        vocabulary_(vocabulary),
        texts_(static_cast<std::size_t>(count)),
        ended_(static_cast<std::size_t>(count), false),
        logits_(logits) {
    generator_.begin(prompt);
    if (logits_ != nullptr) *logits_ = generator_.prompt_logits();
  }

  std::vector<Ids> run(Index tokens) {
    for (Index i = 0; i < tokens && !all_ended(); ++i) {
      const Ids ids = choose_all();
      if (i + 1 == tokens) break;
      generator_.append(ids);
      if (logits_ != nullptr && !ended_[0]) {
        logits_->insert(logits_->end(), generator_.logits(0), generator_.logits(0) + vocabulary_);
      }
    }
    return texts_;
  }

 private:
  [[nodiscard]] bool all_ended() const {
    return std::all_of(ended_.begin(), ended_.end(), [](bool x) { return x; });
  }

  /// Of the next id. Throws Error(numerical) where one of them is not finite.
  [[nodiscard]] const float* logits_of(Index text) const {
    const float* logits = generator_.logits(text);
    const Index bad = first_not_finite(logits, vocabulary_);
    if (bad < 0) return logits;
    fail(Status::numerical, "the logit of id " + std::to_string(bad) + " after " +
                                std::to_string(generator_.places()) + " ids of sample " +
                                std::to_string(first_ + text) + " is " + format_real(logits[bad]) +
                                ": the checkpoint's values are finite and what the model computes "
                                "of them is not; sample an earlier one (-r)");
  }

  /// The next id of each text; a text that has ended goes on with its last one, unheard.
  Ids choose_all() {
    const ChoiceSettings how{settings_.temperature, settings_.top_p};
    Ids ids;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      if (!ended_[i]) {
        const Index text = static_cast<Index>(i);
        const double u = draw(settings_.seed, first_ + text, generator_.places());
        texts_[i].push_back(choose(logits_of(text), vocabulary_, how, u));
        ended_[i] = static_cast<Index>(texts_[i].back()) == settings_.stop_id;
      }
      ids.push_back(texts_[i].back());
    }
    return ids;
  }

  const SampleSettings& settings_;
  Generator<float>& generator_;
  Index first_, vocabulary_;
  std::vector<Ids> texts_;
  std::vector<bool> ended_;
  std::vector<float>* logits_;
};

void write_samples(const std::string& path, const Ids& prompt, const std::vector<Ids>& samples) {
  std::string text = "# one sample a line: " + std::to_string(prompt.size()) +
                     " ids of the prompt, then the continuation\n";
  for (const Ids& sample : samples) {
    text += text_of(prompt) + (sample.empty() ? "" : " ") + text_of(sample) + "\n";
  }
  write_text(path, text);
}

/// Ids and logits of the prompt and the first sample; the last id's logits are there where they
/// were needed.
void write_logits(const std::string& path, Ids ids, const Ids& sample,
                  const std::vector<float>& logits, Index vocabulary,
                  const CheckpointHeader& header) {
  ids.insert(ids.end(), sample.begin(), sample.end());
  const Index rows = static_cast<Index>(logits.size()) / vocabulary;
  ids.resize(static_cast<std::size_t>(rows));
  Hdf5Writer file(path);
  Attributes root;
  root.set("format", "lexikos-logits").set("format_version", 1);
  root.add_missing(provenance(header.deck)).set("step", header.step);
  root.set("definition", "logits[i]: of the id that follows ids[0] ... ids[i], natural units");
  file.set_attributes("/", root);
  file.write<std::uint32_t>("ids", {rows}, ids.data());
  file.write<float>("logits", {rows, vocabulary}, logits.data());
  file.commit();
}

class SampleJob final : public ModelJob {
 public:
  SampleJob(SampleSettings how, MemberSettings settings)
      : ModelJob(std::move(settings)), how_(std::move(how)) {}
  Outcome run(const JobContext& context) override;

 private:
  std::unique_ptr<TrainedModel> open(const std::string& path, const ModelSizes& sizes) const;
  std::vector<Ids> continue_all(TrainedModel& trained, const Ids& prompt, Index tokens, Index group,
                                std::vector<float>& logits, Console& console) const;
  void write(const std::string& path, Console& console) const;
  SampleSettings how_;
};

std::unique_ptr<TrainedModel> SampleJob::open(const std::string& path,
                                              const ModelSizes& sizes) const {
  MemberSettings kept = settings_;
  // Its keys and values are the cache.
  kept.model.execution.recompute = transformer::Recompute::none;
  return TrainedModel::open(path, kept, sizes, {});
}

/// Ids of all samples; the logits of the prompt and the first one where they are asked for.
std::vector<Ids> SampleJob::continue_all(TrainedModel& trained, const Ids& prompt, Index tokens,
                                         Index group, std::vector<float>& logits,
                                         Console& console) const {
  std::vector<Ids> samples;
  for (Index first = 0; first < how_.samples; first += group) {
    const Index count = std::min(group, how_.samples - first);
    Generator<float> generator(trained.model, count);
    const bool keep = how_.logits && first == 0;
    Continuation continuation(how_, generator, prompt, first, count, keep ? &logits : nullptr,
                              trained.model.shape().vocabulary);
    for (const Ids& ids : continuation.run(tokens)) {
      console.line("sample " + std::to_string(samples.size()) + ": " + text_of(ids));
      samples.push_back(ids);
    }
  }
  return samples;
}

void SampleJob::write(const std::string& path, Console& console) const {
  const Index vocabulary = checkpoint_vocabulary(path);
  const Index context = settings_.model.transformer.context;
  const Ids prompt = prompt_of(how_, vocabulary, context);
  ModelSizes sizes = settings_.sizes(vocabulary, 1);
  sizes.micro_batch = sizes.rank_sequences = std::min(sizes.micro_batch, how_.samples);
  const auto trained = open(path, sizes);
  console.line(trained->text(""));

  const Index tokens = std::min(how_.tokens, context + 1 - static_cast<Index>(prompt.size()));
  if (tokens < how_.tokens) {
    console.line("stops after " + std::to_string(tokens) + " of " + std::to_string(how_.tokens) +
                 " tokens: the context of T = " + std::to_string(context) + " is full");
  }
  std::vector<float> logits;
  const Index group = sizes.micro_batch;
  const std::vector<Ids> samples = continue_all(*trained, prompt, tokens, group, logits, console);
  make_directory(settings_.directory);
  write_samples(settings_.directory + "/samples.txt", prompt, samples);
  console.line("wrote " + settings_.directory + "/samples.txt");
  if (!how_.logits) return;
  write_logits(settings_.directory + "/logits.h5", prompt, samples.front(), logits, vocabulary,
               trained->header);
  console.line("wrote " + settings_.directory + "/logits.h5");
}

Outcome SampleJob::run(const JobContext& context) {
  const std::string path = trained_checkpoint(context.arguments.restart, settings_.directory,
                                              context.comm, context.console);
  context.comm.on_root([&] { write(path, context.console); });
  return {};
}

}  // namespace

std::unique_ptr<Job> read_sample(JobDeck& from) {
  const SampleSettings how = read_settings(from.deck.table("sample"));
  check_prompt(how);
  return std::make_unique<SampleJob>(how, read_member(from));
}

void check_sample(const Deck& deck) { read_settings(deck.idle_table("sample")); }

}  // namespace lexikos

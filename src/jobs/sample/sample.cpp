#include "jobs/sample/sample.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "console/configuration.hpp"
#include "hdf5/file.hpp"
#include "jobs/sample/generator.hpp"
#include "jobs/sample/token_choice.hpp"
#include "train/checkpoint_use.hpp"
#include "train/member_files.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

using Ids = std::vector<TokenId>;

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

  /// The next id of each text; a text that has ended goes on with its last one, unheard.
  Ids choose_all() {
    const ChoiceSettings how{settings_.temperature, settings_.top_p};
    Ids ids;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      if (!ended_[i]) {
        const Index text = static_cast<Index>(i);
        const double u = draw(settings_.seed, first_ + text, generator_.places());
        texts_[i].push_back(choose(generator_.logits(text), vocabulary_, how, u));
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
  std::ofstream file(path, std::ios::binary);
  file << "# one sample a line: " << prompt.size() << " ids of the prompt, then the continuation\n";
  for (const Ids& sample : samples) {
    file << text_of(prompt) << (sample.empty() ? "" : " ") << text_of(sample) << "\n";
  }
  file.close();
  if (!file) fail(Status::file, "cannot write '" + path + "'; is the disk full?");
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
  root.set("code_version", code_version()).set("deck", header.deck).set("step", header.step);
  root.set("definition", "logits[i]: of the id that follows ids[0] ... ids[i], natural units");
  file.set_attributes("/", root);
  file.write<std::uint32_t>("ids", {rows}, ids.data());
  file.write<float>("logits", {rows, vocabulary}, logits.data());
  file.commit();
}

}  // namespace

void sample(const MemberSettings& settings, const std::string& asked, const Communicator& comm,
            Console& console) {
  const SampleSettings& how = settings.run.sampling;
  const Index context = settings.model.transformer.context;
  const std::string path = trained_checkpoint(asked, settings.directory, comm, console);
  comm.on_root([&] {
    const Index vocabulary = checkpoint_vocabulary(path);
    const Ids prompt = prompt_of(how, vocabulary, context);
    ModelSizes sizes = settings.sizes(vocabulary, 1);
    sizes.micro_batch = sizes.rank_sequences = std::min(sizes.micro_batch, how.samples);
    ModelSettings kept = settings.model;
    kept.execution.recompute = transformer::Recompute::none;  // its keys and values are the cache
    Model<float> model(kept, sizes);
    model.allocate_for_evaluation();
    const CheckpointHeader header = load_values(path, model.parameters());
    check_checkpoint(header, path, settings.resolved_deck, RunData());
    console.line(path + ", step " + std::to_string(header.step));

    const Index places = static_cast<Index>(prompt.size());
    const Index tokens = std::min(how.tokens, context + 1 - places);
    if (tokens < how.tokens) {
      console.line("stops after " + std::to_string(tokens) + " of " + std::to_string(how.tokens) +
                   " tokens: the context of T = " + std::to_string(context) + " is full");
    }
    std::vector<Ids> samples;
    std::vector<float> logits;
    const Index group = std::min(sizes.micro_batch, model.distinct_max());
    for (Index first = 0; first < how.samples; first += group) {
      const Index count = std::min(group, how.samples - first);
      Generator<float> generator(model, count);
      const bool keep = how.logits && first == 0;
      Continuation continuation(how, generator, prompt, first, count, keep ? &logits : nullptr,
                                vocabulary);
      for (const Ids& ids : continuation.run(tokens)) {
        console.line("sample " + std::to_string(samples.size()) + ": " + text_of(ids));
        samples.push_back(ids);
      }
    }
    make_directory(settings.directory);
    write_samples(settings.directory + "/samples.txt", prompt, samples);
    console.line("wrote " + settings.directory + "/samples.txt");
    if (how.logits) {
      write_logits(settings.directory + "/logits.h5", prompt, samples.front(), logits, vocabulary,
                   header);
      console.line("wrote " + settings.directory + "/logits.h5");
    }
  });
}

}  // namespace lexikos

#include "train/trained_model.hpp"

#include <filesystem>

#include "deck/deck.hpp"
#include "train/checkpoint_use.hpp"
#include "train/member_files.hpp"
#include "utils/error.hpp"

namespace lexikos {
namespace {

/// How a parameter starts is no matter once it has been trained.
bool only_for_the_start(const std::string& key) { return key == "init_deviation"; }

/// Throws at the first value below `now` that `then` has differently. A key that one of the two
/// has not is a change of the code's version, not of the model.
void compare(const Node& now, const Node& then, const std::string& name, const std::string& path) {
  for (const Node& child : now.children) {
    const Node* other = then.child(child.key);
    if (other == nullptr || only_for_the_start(child.key)) continue;
    const std::string dotted = dotted_name(name, child.key);
    if (child.is_table() && other->is_table()) {
      compare(child, *other, dotted, path);
    } else if (child.toml() != other->toml()) {
      fail(Status::deck, dotted + " is " + child.toml() + " and was " + other->toml() + " when '" +
                             path + "' was trained; use the deck it was made with");
    }
  }
}

void check_model(const std::string& resolved_deck, const std::string& stored,
                 const std::string& path) {
  if (stored.empty()) return;
  const Deck now = Deck::from_string(resolved_deck, "deck");
  const Deck then = Deck::from_string(stored, "the deck in '" + path + "'");
  for (const char* table : {"embedding", "transformer"}) {
    const Node* a = now.root().child(table);
    const Node* b = then.root().child(table);
    if (a != nullptr && b != nullptr) compare(*a, *b, table, path);
  }
}

/// What identifies a tokenizer to a reader of messages.
std::string short_hash(const std::string& hash) { return hash.substr(0, 12); }

void check_tokenizer(const CheckpointHeader& header, const std::string& path,
                     const UsedTokenizer& used) {
  const auto stored = [&](const char* name) {
    return header.other.has(name) ? header.other.text(name) : std::string();
  };
  const std::string then = stored("tokenizer_hash");
  if (then.empty() || used.hash.empty() || then == used.hash) return;
  fail(Status::file, "'" + path + "' was trained on tokens of another tokenizer (" +
                         stored("tokenizer") + ", SHA-256 " + short_hash(then) + ") than " +
                         used.source + " (" + used.name + ", " + short_hash(used.hash) + "); " +
                         used.advice);
}

}  // namespace

std::string trained_checkpoint(const std::string& asked, const std::string& folder,
                               const Communicator& comm, Console& console) {
  if (!asked.empty() && asked != "latest") return asked;
  const std::string path = newest_checkpoint(folder, comm, console);
  if (path.empty()) {
    fail(Status::file, "there is no checkpoint in '" + folder +
                           "'; train first (job=train), or name a checkpoint with -r");
  }
  return path;
}

Index checkpoint_vocabulary(const std::string& path) {
  return read_parameter_shape(path, "head.weight").front();
}

UsedTokenizer tokenizer_of(const RunData& data) {
  return {data.tokenizer, data.tokenizer_hash, "data.tokens", "its ids mean other pieces of text"};
}

void check_checkpoint(const CheckpointHeader& header, const std::string& path,
                      const std::string& resolved_deck, const UsedTokenizer& tokenizer) {
  check_model(resolved_deck, header.deck, path);
  check_tokenizer(header, path, tokenizer);
}

TrainedModel::TrainedModel(const std::string& path, const MemberSettings& settings,
                           const ModelSizes& sizes, const UsedTokenizer& tokenizer)
    : path(path), model(settings.model, sizes) {
  model.allocate_for_evaluation();
  header = load_values(path, model.parameters());
  check_checkpoint(header, path, settings.resolved_deck, tokenizer);
}

std::unique_ptr<TrainedModel> TrainedModel::open(const std::string& path,
                                                 const MemberSettings& settings,
                                                 const ModelSizes& sizes,
                                                 const UsedTokenizer& tokenizer) {
  return std::unique_ptr<TrainedModel>(new TrainedModel(path, settings, sizes, tokenizer));
}

std::string TrainedModel::text(const std::string& member) const {
  return (member.empty() ? "" : "member " + member + ", ") + path + ", step " +
         std::to_string(header.step);
}

std::string TrainedModel::file_name() const {
  return std::filesystem::path(path).filename().string();
}

Index TrainedModel::end_of_text() const {
  return header.other.has("end_of_text") ? header.other.integer("end_of_text") : -1;
}

}  // namespace lexikos

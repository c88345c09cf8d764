#include "train/checkpoint_use.hpp"

#include "data/tokens/fingerprint.hpp"
#include "deck/deck.hpp"
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

/// The first key that decides which tokens a step reads and is another in `then`: "batch.tokens is
/// 40 and was 80"; "" where there is none. What one of the two has not is not compared.
std::string order_difference(const Node& now, const Node& then) {
  const auto differ = [](const Node* a, const Node* b, const std::string& name) -> std::string {
    if (a == nullptr || b == nullptr || a->toml() == b->toml()) return "";
    return name + (a->is_table() ? " is another" : " is " + a->toml() + " and was " + b->toml());
  };
  std::string found = differ(now.child("seed"), then.child("seed"), "seed");
  for (const auto& [table, key] : {std::pair("batch", "tokens"), std::pair("data", "cross_shards"),
                                   std::pair("data", "mixture")}) {
    const Node *a = now.child(table), *b = then.child(table);
    if (!found.empty() || a == nullptr || b == nullptr) continue;
    found = differ(a->child(key), b->child(key), std::string(table) + "." + key);
  }
  return found;
}

std::string stored_text(const Attributes& attributes, const std::string& name) {
  return attributes.has(name) ? attributes.text(name) : "";
}

}  // namespace

std::string newest_checkpoint(const std::string& folder, const Communicator& comm,
                              Console& console) {
  std::string path;
  std::vector<std::string> passed_over;
  comm.on_root([&] { path = find_newest_checkpoint(folder, &passed_over).value_or(""); });
  for (const std::string& why : passed_over) console.line(why);
  return comm.broadcast(path);
}

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

Index stored_end_of_text(const CheckpointHeader& header) {
  return header.other.has("end_of_text") ? header.other.integer("end_of_text") : -1;
}

void check_checkpoint(const CheckpointHeader& header, const std::string& path,
                      const std::string& resolved_deck, const RunData& data) {
  check_model(resolved_deck, header.deck, path);
  const std::string then = stored_text(header.other, "tokenizer_hash");
  if (!then.empty() && !data.tokenizer_hash.empty() && then != data.tokenizer_hash) {
    fail(Status::file, "'" + path + "' was trained on tokens of another tokenizer (" +
                           stored_text(header.other, "tokenizer") + ", SHA-256 " +
                           then.substr(0, 12) + ") than data.tokens (" + data.tokenizer + ", " +
                           data.tokenizer_hash.substr(0, 12) +
                           "); its ids mean other pieces of text");
  }
}

void check_data_order(const CheckpointHeader& header, const std::string& path,
                      const std::string& resolved_deck, bool allow_changed, Console& console) {
  if (header.step == 0 || header.deck.empty()) return;  // nothing was read yet
  const Deck now = Deck::from_string(resolved_deck, "deck");
  const Deck then = Deck::from_string(header.deck, "the deck in '" + path + "'");
  const std::string difference = order_difference(now.root(), then.root());
  if (difference.empty()) return;
  if (!allow_changed) {
    fail(Status::deck, difference + " when '" + path +
                           "' was trained: tokens would be read twice or left out; use the deck it "
                           "was made with, or allow it with data.allow_changed = true");
  }
  console.line("data.allow_changed: " + difference + "; going on");
}

void check_token_files(const CheckpointHeader& header, const std::string& path, const RunData& data,
                       bool allow_changed, Console& console) {
  if (data.fingerprint.empty()) return;  // a formula
  const std::string then = stored_text(header.other, fingerprint_attribute);
  if (then.empty()) {
    console.line("'" + path + "' does not tell which token files it was trained on; not compared");
    return;
  }
  const std::string difference = fingerprint_difference(then, data.fingerprint);
  if (difference.empty()) return;
  if (!allow_changed) {
    fail(Status::file, "'" + path + "' was trained on other token files: " + difference +
                           "; give it those, or allow it with data.allow_changed = true");
  }
  console.line("data.allow_changed: " + difference + "; going on");
}

}  // namespace lexikos

#include "driver/checkpoint_use.hpp"

#include "data/fingerprint.hpp"
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
      fail(Status::deck, dotted + " is " + child.toml() + " and was " + other->toml() +
                             " when '" + path + "' was trained; use the deck it was made with");
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

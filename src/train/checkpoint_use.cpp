#include "train/checkpoint_use.hpp"

#include "data/tokens/fingerprint.hpp"
#include "deck/deck.hpp"
#include "utils/error.hpp"

namespace lexikos {
namespace {

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

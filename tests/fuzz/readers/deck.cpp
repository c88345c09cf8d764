// deck/: a TOML text; lines that begin with "!" are overrides. Every key is read as each type; what
// was read stands in resolved(), which reads back to the same values.
#include "deck/deck.hpp"

#include <cmath>
#include <optional>

#include "deck/sweep.hpp"
#include "fuzz/reader.hpp"
#include "utils/text.hpp"

namespace {

using lexikos::Deck;
using lexikos::DeckTable;
using lexikos::Kind;
using lexikos::Node;
using lexikos::Status;
namespace fuzz = lexikos::fuzz;

struct Parts {
  std::string text;
  std::vector<std::string> overrides;
};

Parts parts_of(std::string_view input) {
  Parts parts;
  for (const std::string& line : lexikos::split(input, '\n')) {
    if (!line.empty() && line[0] == '!') {
      parts.overrides.push_back(line.substr(1));
    } else {
      parts.text += line + "\n";
    }
  }
  return parts;
}

/// Reads a key as what it is; whether it was accepted.
bool read_key(const DeckTable& table, const Node& node) {
  const lexikos::Key key = {.name = node.key, .doc = "a key"};
  return fuzz::accepts(Status::deck, [&] {
    switch (node.kind) {
      case Kind::integer:
        fuzz::require(table.integer(key, lexikos::required) == node.integer, "an integer is kept");
        break;
      case Kind::real: {
        const double real = table.real(key, lexikos::required);
        fuzz::require(real == node.real, "a real is kept, and NaN refused");
        break;
      }
      case Kind::flag:
        fuzz::require(table.flag(key, lexikos::required) == node.flag, "a boolean is kept");
        break;
      case Kind::text:
        fuzz::require(table.text(key, lexikos::required) == node.text, "a text is kept");
        break;
      case Kind::array:
        static_cast<void>(table.texts(key, lexikos::required));
        break;
      default:
        table.reject(node.key, "is a date");
    }
  });
}

/// Wrong types and ranges are refused by Error, whatever stands there.
void read_wrongly(const DeckTable& table, const std::string& name) {
  const lexikos::Key key = {.name = name, .doc = "a key"};
  const auto attempt = [](const auto& read) { fuzz::accepts(Status::deck, read); };
  attempt([&] { static_cast<void>(table.integer(key, 1, lexikos::Between(1, 9))); });
  attempt([&] { static_cast<void>(table.real(key, 1.0, lexikos::Above(0))); });
  attempt([&] { static_cast<void>(table.flag(key, true)); });
  attempt([&] { static_cast<void>(table.choice(key, "a", {"a", "b"})); });
  attempt([&] { static_cast<void>(table.integers(key, {1})); });
  attempt([&] { static_cast<void>(table.reals(key, {1.0})); });
  attempt([&] { static_cast<void>(table.texts(key, {"a"})); });
}

/// Reads every key of a table and of those below it.
void read_all(const Deck& deck, const Deck& other, const Node& node, const std::string& name) {
  std::optional<DeckTable> table, wrong;
  if (!fuzz::accepts(Status::deck, [&] { table = deck.table(name); })) return;
  if (!fuzz::accepts(Status::deck, [&] { wrong = other.table(name); })) return;
  for (const Node& child : node.children) {
    const bool plain = lexikos::is_bare_key(child.key);
    if (child.is_table()) {
      if (plain) read_all(deck, other, child, lexikos::dotted_name(name, child.key));
    } else if (plain) {
      read_key(*table, child);
      read_wrongly(*wrong, child.key);
    }
  }
}

void check_resolved(const Deck& deck) {
  const std::string text = deck.resolved();
  std::optional<Deck> again;
  const bool accepted =
      fuzz::accepts(Status::deck, [&] { again = Deck::from_string(text, "resolved"); });
  fuzz::require(accepted, "what resolved() writes is a deck: " + text);
  for (const lexikos::KeyDoc& key : deck.keys()) {
    const auto path = lexikos::path_of(lexikos::dotted_name(key.table, key.name));
    const Node* before = deck.root().at(path);
    const Node* after = again->root().at(path);
    if (before == nullptr || after == nullptr) continue;
    const bool number = before->kind == Kind::real || before->kind == Kind::integer;
    fuzz::require(number || before->toml() == after->toml(),
                  "resolved() reads back to the same value: " + before->toml());
  }
}

void check_sweep(const Deck& deck) {
  lexikos::SweepPlan plan;
  if (!fuzz::accepts(Status::deck, [&] { plan = lexikos::expand_sweep(deck); })) return;
  fuzz::require(!plan.members.empty() && plan.concurrent >= 1, "a sweep has members");
  for (const lexikos::SweepMember& member : plan.members) {
    fuzz::require(member.name.find('/') == std::string::npos, "a member's name is a folder's");
    fuzz::require(!member.deck.has("sweep"), "a member's deck has no sweep");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Parts parts = parts_of(fuzz::text_of(data, size));
  std::optional<Deck> deck, other;
  const bool accepted = fuzz::accepts(Status::deck, [&] {
    deck = Deck::from_string(parts.text, "deck.toml", parts.overrides);
    other = *deck;
  });
  if (!accepted) return 0;
  check_sweep(*other);
  read_all(*deck, *other, deck->root(), "");
  check_resolved(*deck);
  fuzz::accepts(Status::deck, [&] { deck->check_all_read(); });
  return 0;
}

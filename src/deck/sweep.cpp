#include "deck/sweep.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "utils/error.hpp"
#include "utils/text.hpp"

namespace lexikos {

namespace {

constexpr const char* sweep_table = "sweep";
constexpr const char* concurrent_key = "concurrent";
/// More members than this are a slip, not a study.
constexpr std::size_t most_members = 10000;

/// One key that is swept over.
struct Axis {
  std::string key;    ///< dotted, as members see it
  const Node* array;  ///< its values
};

void check_axis(const Axis& axis) {
  const std::string what = axis.array->place.text() + ": sweep." + axis.key;
  if (axis.array->kind != Kind::array) {
    fail(Status::deck, what + " is " + axis.array->description() +
                           "; an array of values to run through is expected");
  }
  if (axis.array->children.empty()) {
    fail(Status::deck, what + " is empty: give at least one value, or take the key out");
  }
  for (const Node& value : axis.array->children) {
    if (value.is_table() || value.kind == Kind::date) {
      fail(Status::deck, what + " contains " + value.description() +
                             "; numbers, strings, booleans and arrays of them are expected");
    }
  }
}

void collect_axes(const Node& table, const std::string& name, std::vector<Axis>& axes) {
  for (const Node& child : table.children) {
    const std::string dotted = dotted_name(name, child.key);
    if (dotted == concurrent_key) continue;
    if (child.is_table()) {
      collect_axes(child, dotted, axes);
    } else {
      axes.push_back({dotted, &child});
      check_axis(axes.back());
    }
  }
}

/// The axes in the order in which the deck writes them, wherever their tables begin.
std::vector<Axis> axes_of(const Deck& deck) {
  std::vector<Axis> axes;
  const Node* sweep = deck.root().child(sweep_table);
  if (sweep != nullptr) collect_axes(*sweep, "", axes);
  std::stable_sort(axes.begin(), axes.end(),
                   [](const Axis& a, const Axis& b) { return a.array->order < b.array->order; });
  return axes;
}

std::size_t count_members(const std::vector<Axis>& axes) {
  std::size_t count = 1;
  for (const Axis& axis : axes) {
    count *= axis.array->children.size();
    if (count > most_members) {
      fail(Status::deck, axis.array->place.text() + ": [sweep] has more than " +
                             format_count(most_members) + " members: split it");
    }
  }
  return count;
}

std::string plain(const Node& value) {
  return value.kind == Kind::text ? value.text : value.toml();
}

std::string plain_items(const Node& value) {
  std::vector<std::string> items;
  for (const Node& item : value.children) items.push_back(plain(item));
  return join(items, "_");
}

/// "lev" for a string, "seed2" for a number, "sizes64_128" for an array.
std::string name_part(const Axis& axis, const Node& value) {
  if (value.kind == Kind::text && !value.text.empty()) return value.text;
  const std::string last = path_of(axis.key).back();
  return last + (value.kind == Kind::array ? plain_items(value) : plain(value));
}

/// Fit for a folder: no separators, no blanks, and not hidden.
std::string folder_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool kept = is_bare_key(std::string_view(&c, 1)) || c == '.';
    name += kept ? c : '_';
  }
  if (!name.empty() && name.front() == '.') name.front() = '_';
  return name;
}

/// Member number `index`: the digits of the index, the last axis the fastest, choose the values.
SweepMember make_member(const Deck& base, const std::vector<Axis>& axes, std::size_t index) {
  std::vector<const Node*> values(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    const auto& choices = axes[i].array->children;
    values[i] = &choices[index % choices.size()];
    index /= choices.size();
  }
  SweepMember member = {"", base, {}};
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    member.deck = member.deck.with(axes[i].key, values[i]->toml(), values[i]->place);
    member.settings.emplace_back(axes[i].key, plain(*values[i]));
    parts.push_back(name_part(axes[i], *values[i]));
  }
  member.name = folder_name(join(parts, "-"));
  return member;
}

std::string settings_text(const SweepMember& member) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : member.settings) parts.push_back(key + "=" + value);
  return join(parts, " ");
}

void check_names(const std::vector<SweepMember>& members, const std::string& place) {
  std::map<std::string, const SweepMember*> seen;
  for (const SweepMember& member : members) {
    const auto [other, is_new] = seen.emplace(member.name, &member);
    if (is_new) continue;
    fail(Status::deck, place + ": two members of [sweep] would have the name '" + member.name +
                           "' (" + settings_text(*other->second) + " and " + settings_text(member) +
                           "): give each value once, and names that "
                           "differ in letters, digits, '_', '.' or '-'");
  }
}

/// [sweep] in the key reference of every member, though members do not have it.
void note_sweep_keys(const Deck& deck, const std::vector<KeyDoc>& of_whole) {
  for (const KeyDoc& key : of_whole) {
    if (key.table == sweep_table) deck.note(key);
  }
}

void note_axes(const Deck& deck) {
  deck.note({sweep_table, "<table>.<key>", "list", "none",
             "at least one value, at most 10,000 members", "",
             "values to run through; each combination is a run of its own"});
}

}  // namespace

SweepPlan expand_sweep(const Deck& deck) {
  SweepPlan plan;
  plan.concurrent = static_cast<int>(
      deck.table(sweep_table)
          .integer({.name = concurrent_key,
                    .doc = "members that run side by side, each on its share of the ranks",
                    .unit = "groups of MPI ranks"},
                   1, Between(1, 1 << 20)));
  note_axes(deck);
  const std::vector<Axis> axes = axes_of(deck);
  const std::size_t count = count_members(axes);
  const Deck base = deck.without(sweep_table);
  for (std::size_t index = 0; index < count; ++index) {
    plan.members.push_back(make_member(base, axes, index));
    note_sweep_keys(plan.members.back().deck, deck.keys());
  }
  if (!axes.empty()) check_names(plan.members, axes.front().array->place.text());
  return plan;
}

}  // namespace lexikos

// Keys that nobody read, and what was probably meant.
#include <algorithm>
#include <utility>

#include "deck/deck.hpp"
#include "utils/error.hpp"
#include "utils/text.hpp"

namespace lexikos {

namespace {

struct Unknown {
  std::string name;  ///< dotted
  const Node* node;
};

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

/// Unread values, and tables that nobody asked for (each as a whole), below one table.
void collect(const Node& table, const std::string& name, const std::vector<std::string>& known,
             std::vector<Unknown>& found) {
  for (const Node& child : table.children) {
    const std::string dotted = dotted_name(name, child.key);
    if (child.is_table() && contains(known, dotted)) {
      collect(child, dotted, known, found);
    } else if (!child.read) {
      found.push_back({dotted, &child});
    }
  }
}

std::pair<std::string, std::string> parent_and_last(const std::string& dotted) {
  const std::size_t dot = dotted.rfind('.');
  if (dot == std::string::npos) return {"", dotted};
  return {dotted.substr(0, dot), dotted.substr(dot + 1)};
}

/// The nearest known key: in the same table by its last component; elsewhere by its last
/// component, at the price of one edit for the wrong table, or by the whole name.
std::string nearest_key(const std::string& dotted, const std::vector<ReadKey>& keys) {
  const auto [table, last] = parent_and_last(dotted);
  std::vector<std::string> siblings;
  for (const ReadKey& key : keys) {
    if (key.doc.table == table) siblings.push_back(key.doc.name);
  }
  const std::string sibling = nearest(last, siblings);
  std::size_t best = std::max<std::size_t>(1, last.size() / 3) + 1;
  std::string found;
  if (!sibling.empty()) {
    found = dotted_name(table, sibling);
    best = std::min(best, edit_distance(last, sibling));
  }
  for (const ReadKey& key : keys) {
    const std::string full = dotted_name(key.doc.table, key.doc.name);
    const std::size_t elsewhere = edit_distance(last, key.doc.name) + 1;
    const std::size_t distance = std::min(elsewhere, edit_distance(dotted, full));
    const bool too_short = std::min(last.size(), key.doc.name.size()) < 2;
    if (distance < best && !too_short) {
      best = distance;
      found = full;
    }
  }
  return found;
}

std::string nearest_table(const std::string& dotted, const std::vector<std::string>& tables) {
  const auto [parent, last] = parent_and_last(dotted);
  std::vector<std::string> siblings;
  for (const std::string& table : tables) {
    const auto [its_parent, its_last] = parent_and_last(table);
    if (its_parent == parent) siblings.push_back(its_last);
  }
  const std::string sibling = nearest(last, siblings);
  return sibling.empty() ? nearest(dotted, tables) : dotted_name(parent, sibling);
}

std::string did_you_mean(const std::string& name) { return "; did you mean '" + name + "'?"; }

std::string key_advice(const std::string& dotted, const KeyListing& listing) {
  const std::string near = nearest_key(dotted, listing.keys());
  if (!near.empty()) return did_you_mean(near);
  const std::string table = parent_and_last(dotted).first;
  std::vector<std::string> names;
  for (const ReadKey& key : listing.keys()) {
    if (key.doc.table == table) names.push_back(key.doc.name);
  }
  const std::string where = table.empty() ? "the top level" : "[" + table + "]";
  if (names.empty()) return "; " + where + " has no keys of its own";
  return "; known keys of " + where + ": " + join(names, ", ");
}

std::string table_advice(const Unknown& unknown, const KeyListing& listing) {
  const std::vector<std::string> tables = listing.tables();
  const std::string near = nearest_table(unknown.name, tables);
  if (!near.empty()) return did_you_mean(near);
  // [train] learning_rate = ...: no table looks like it, but the key tells where it belongs.
  for (const Node& child : unknown.node->children) {
    if (child.is_table()) continue;
    const std::string key = nearest_key(dotted_name(unknown.name, child.key), listing.keys());
    if (!key.empty()) return " with '" + child.key + "'" + did_you_mean(key);
  }
  return tables.empty() ? "" : "; known tables: " + join(tables, ", ");
}

}  // namespace

void Deck::check_all_read() const {
  std::vector<Unknown> unknowns;
  collect(root_, "", listing_.tables(), unknowns);
  if (unknowns.empty()) return;
  const Unknown& first = *std::min_element(
      unknowns.begin(), unknowns.end(),
      [](const Unknown& a, const Unknown& b) { return a.node->order < b.node->order; });
  const bool table = first.node->is_table();
  std::string message =
      first.node->place.text() + ": unknown " + (table ? "table" : "key") + " '" + first.name + "'";
  message += table ? table_advice(first, listing_) : key_advice(first.name, listing_);
  const std::size_t more = unknowns.size() - 1;
  if (more > 0) message += " (and " + std::to_string(more) + " more unknown)";
  fail(Status::deck, message);
}

}  // namespace lexikos

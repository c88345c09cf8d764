#include "deck/key_listing.hpp"

#include <algorithm>

#include "deck/node.hpp"
#include "utils/error.hpp"
#include "utils/text.hpp"

namespace lexikos {

namespace {

void add_once(std::vector<std::string>& list, const std::string& text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

/// The parts that are not empty, as in "tokens; at least 1; tokens of one step".
std::string joined(const std::vector<std::string>& parts) {
  std::vector<std::string> filled;
  for (const std::string& part : parts) {
    if (!part.empty()) filled.push_back(single_line(part));
  }
  return join(filled, "; ");
}

std::string table_header(const std::string& table) {
  std::vector<std::string> names;
  for (const std::string& name : path_of(table)) names.push_back(toml_key(name));
  return "[" + join(names, ".") + "]";
}

/// "key = value" lines with their comments in one column, unless a long value pushes its own out.
std::string table_body(const std::vector<const ReadKey*>& keys) {
  constexpr std::size_t widest = 44;
  std::vector<std::string> lines;
  std::size_t column = 0;
  for (const ReadKey* key : keys) {
    lines.push_back(toml_key(key->doc.name) + " = " + key->value);
    if (lines.back().size() <= widest) column = std::max(column, lines.back().size());
  }
  std::string body;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const KeyDoc& doc = keys[i]->doc;
    const std::string comment = joined({doc.unit, doc.range_text, doc.doc});
    body += lines[i];
    if (!comment.empty()) {
      body += std::string(column > lines[i].size() ? column - lines[i].size() : 0, ' ');
      body += "  # " + comment;
    }
    body += "\n";
  }
  return body;
}

std::string markdown_cell(const std::string& text) {
  std::string cell;
  for (const char c : single_line(text)) {
    if (c == '|' || c == '*') cell += '\\';
    if (c == '<') {
      cell += "&lt;";
    } else {
      cell += c;
    }
  }
  return cell;
}

std::string markdown_row(const KeyDoc& key) {
  const std::vector<std::string> cells = {
      "`" + key.name + "`", key.type, markdown_cell(key.default_text),
      markdown_cell(joined({key.unit, key.range_text})), markdown_cell(key.doc)};
  return "| " + join(cells, " | ") + " |\n";
}

}  // namespace

void KeyListing::add(const ReadKey& key) {
  add_table(key.doc.table);
  const ReadKey* found = find(key.doc.table, key.doc.name);
  if (found == nullptr) {
    keys_.push_back(key);
    return;
  }
  if (!key.in_force) return;
  if (!found->in_force) {
    keys_[static_cast<std::size_t>(found - keys_.data())] = key;
    return;
  }
  if (!key.given && !found->given && key.value != found->value) {
    fail(Status::deck, dotted_name(key.doc.table, key.doc.name) + " was read with two defaults, " +
                           found->value + " and " + key.value +
                           ": a mistake in the program; giving the key in the deck settles it");
  }
}

void KeyListing::add_table(const std::string& name) { add_once(tables_, name); }

const ReadKey* KeyListing::find(const std::string& table, const std::string& name) const {
  const auto found = std::find_if(keys_.begin(), keys_.end(), [&](const ReadKey& key) {
    return key.doc.name == name && key.doc.table == table;
  });
  return found == keys_.end() ? nullptr : &*found;
}

std::vector<std::string> KeyListing::tables() const {
  std::vector<std::string> all;
  for (const std::string& table : tables_) {
    for (std::size_t dot = table.find('.'); dot != std::string::npos;
         dot = table.find('.', dot + 1)) {
      add_once(all, table.substr(0, dot));
    }
    if (!table.empty()) add_once(all, table);
  }
  return all;
}

std::string KeyListing::resolved() const {
  std::vector<std::string> order = {""};
  for (const ReadKey& key : keys_) add_once(order, key.doc.table);
  std::string text;
  for (const std::string& table : order) {
    std::vector<const ReadKey*> members;
    for (const ReadKey& key : keys_) {
      if (key.in_force && key.doc.table == table) members.push_back(&key);
    }
    if (members.empty()) continue;
    if (!text.empty()) text += "\n";
    if (!table.empty()) text += table_header(table) + "\n";
    text += table_body(members);
  }
  return text;
}

std::string key_reference_markdown(const std::vector<KeyDoc>& keys) {
  std::vector<std::string> order;
  for (const KeyDoc& key : keys) {
    if (key.table.empty()) order = {""};
  }
  for (const KeyDoc& key : keys) add_once(order, key.table);
  std::string text;
  for (const std::string& table : order) {
    if (!text.empty()) text += "\n";
    text += table.empty() ? "### Top level\n\n" : "### `" + table_header(table) + "`\n\n";
    text += "| key | type | default | unit, range or choices | meaning |\n|---|---|---|---|---|\n";
    for (const KeyDoc& key : keys) {
      if (key.table == table) text += markdown_row(key);
    }
  }
  return text;
}

}  // namespace lexikos

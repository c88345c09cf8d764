#include "deck/deck.hpp"

#include <algorithm>
#include <utility>

#include "deck/parse.hpp"
#include "deck/toml_text.hpp"
#include "utils/error.hpp"
#include "utils/json.hpp"
#include "utils/text.hpp"
#include "utils/text_file.hpp"

namespace lexikos {

namespace {

/// The whole text of a file, or of a pipe that somebody writes to.
std::string file_text(const std::string& path) {
  try {
    return read_text(path, TomlText::most_bytes);
  } catch (const Error& error) {
    fail(Status::deck, std::string("deck ") + error.what() + "; give a file with -i");
  }
}

/// toml11 3.7 reads past the end of a string that is not UTF-8.
void check_utf8(const std::string& text, const std::string& name) {
  const auto bad = first_bad_utf8(text);
  if (!bad) return;
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(*bad);
  const int line = 1 + static_cast<int>(std::count(text.begin(), end, '\n'));
  fail(Status::deck, Place{name, line}.text() + ": this is not UTF-8; save it as UTF-8");
}

/// Every part of the path that is there must be a table.
void check_is_table(const Node& root, const std::string& name) {
  const Node* node = &root;
  std::string so_far;
  for (const std::string& part : path_of(name)) {
    so_far = dotted_name(so_far, part);
    node = node->child(part);
    if (node == nullptr) return;
    if (!node->is_table()) {
      fail(Status::deck, node->place.text() + ": " + so_far + " is " + node->description() +
                             "; a table is expected, written [" + so_far + "]");
    }
  }
}

}  // namespace

Deck Deck::from_file(const std::string& path, const std::vector<std::string>& overrides) {
  return from_string(file_text(path), path, overrides);
}

Deck Deck::from_string(const std::string& text, const std::string& name,
                       const std::vector<std::string>& overrides) {
  Deck deck;
  deck.name_ = name;
  check_utf8(text, name);
  deck.root_ = parse_toml(text, name);
  for (const std::string& one : overrides) deck.apply_override(one);
  return deck;
}

Deck Deck::blank() {
  Deck deck;
  deck.name_ = "blank deck";
  deck.root_.place = {deck.name_, 0};
  deck.blank_ = true;
  return deck;
}

void Deck::apply_override(const std::string& text) {
  const Place place = {"command line", 0};
  check_utf8(text, place.file);
  const std::size_t equals = text.find('=');
  const std::string key = trim(text.substr(0, equals));
  if (equals == std::string::npos || !is_dotted_key(key)) {
    fail(Status::deck, place.text() + ": '" + text + "' is not of the form table.key=value");
  }
  const TomlText not_too_deep(key, place);
  const std::string value = trim(text.substr(equals + 1));
  if (value.empty()) {
    fail(Status::deck,
         place.text() + ": '" + text + "' has no value; an empty text is '" + key + "=\"\"'");
  }
  insert(root_, key, parse_loose_value(value, place));
}

DeckTable Deck::table(const std::string& name) const {
  check_is_table(root_, name);
  listing_.add_table(name);
  return {*this, name, blank_ || idle_};
}

DeckTable Deck::idle_table(const std::string& name) const {
  check_is_table(root_, name);
  listing_.add_table(name);
  return {*this, name, true};
}

bool Deck::has(const std::string& dotted) const { return root_.at(path_of(dotted)) != nullptr; }

std::string Deck::resolved() const { return listing_.resolved(); }

std::vector<KeyDoc> Deck::keys() const {
  std::vector<KeyDoc> docs;
  for (const ReadKey& key : listing_.keys()) docs.push_back(key.doc);
  return docs;
}

void Deck::note(const KeyDoc& doc) const { listing_.add({doc, "", false, false}); }

void Deck::forget_readings() {
  clear_read_marks(root_);
  listing_ = {};
}

Deck Deck::with(const std::string& dotted, const std::string& toml, const Place& place) const {
  Deck copy = *this;
  insert(copy.root_, dotted, parse_toml_value(toml, place));
  copy.forget_readings();
  return copy;
}

Deck Deck::without(const std::string& dotted) const {
  Deck copy = *this;
  erase(copy.root_, dotted);
  copy.forget_readings();
  return copy;
}

}  // namespace lexikos

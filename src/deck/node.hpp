// The deck as a tree of our own: value, place in the file, and whether anybody read it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lexikos {

/// Where a value was written. line 0: no line, as for the command line.
struct Place {
  std::string file;
  int line = 0;

  /// "deck.toml:12", or "command line".
  [[nodiscard]] std::string text() const;
};

/// Line and column, from 1; 0: unknown.
struct Position {
  int line = 0, column = 0;
  auto operator<=>(const Position&) const = default;
};

enum class Kind { table, array, integer, real, flag, text, date };

/// One value or table. Tables and arrays own their children in file order.
struct Node {
  Kind kind = Kind::table;
  std::string key;  ///< last component of the name; empty for the root and array elements
  std::int64_t integer = 0;
  double real = 0;
  bool flag = false;
  std::string text;
  std::vector<Node> children;  ///< of a table or an array
  Place place;
  int order = 0;              ///< position among all values of the deck, file order
  mutable bool read = false;  ///< a mark, not part of the value: reading a const deck sets it

  [[nodiscard]] bool is_table() const { return kind == Kind::table; }

  /// The child of a table, or nullptr.
  [[nodiscard]] const Node* child(std::string_view name) const;
  Node* child(std::string_view name);

  /// The value or table at a path from here, or nullptr. An empty path is the node itself.
  [[nodiscard]] const Node* at(const std::vector<std::string>& path) const;

  /// The value as TOML writes it; tables as inline tables.
  [[nodiscard]] std::string toml() const;

  /// "an integer (4)", "a string (\"four\")", "a table": for messages.
  [[nodiscard]] std::string description() const;
};

/// {"embedding", "lev"} from "embedding.lev"; {} from "".
std::vector<std::string> path_of(std::string_view dotted);

/// "embedding.lev" + "knots"; a table "" is the top level.
std::string dotted_name(const std::string& table, const std::string& key);

/// True for a name that TOML accepts without quotes.
bool is_bare_key(std::string_view name);

/// True for bare keys joined by dots, which is how every key of a deck is named.
bool is_dotted_key(std::string_view name);

/// A key as TOML writes it: bare where possible, else quoted.
std::string toml_key(const std::string& name);

/// Values as TOML writes them.
std::string toml_value(bool value);
std::string toml_value(std::int64_t value);
std::string toml_value(double value);
std::string toml_value(const std::string& value);

template <class T>
std::string toml_value(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) {
    if (text.size() > 1) text += ", ";
    text += toml_value(value);
  }
  return text + "]";
}

/// Puts `value` at the path, making the tables in between; replaces a value that is there and
/// takes over its `order`, otherwise goes last. Throws Error(deck) at value.place where the path
/// goes through a value or ends at a table.
void insert(Node& root, const std::string& dotted, Node value);

/// Takes the value or table at the path out, if it is there.
void erase(Node& root, const std::string& dotted);

/// Clears every read mark from here down.
void clear_read_marks(const Node& node);

}  // namespace lexikos

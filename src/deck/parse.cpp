// The only source that includes toml11, which takes seconds to compile.
#include "deck/parse.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <optional>
#include <sstream>
#include <utility>

#include "deck/toml_compat.hpp"
#include "utils/error.hpp"
#include "utils/text.hpp"

namespace lexikos {

namespace {

/// What values are read out of.
struct Source {
  std::string name;
  TomlText text;
};

Node converted(const toml::value& value, const std::string& key, const Source& source);

/// toml11 keeps tables in hash maps; the file order is recovered from the positions.
void convert_table(const toml::value& value, const Source& source, Node& node) {
  std::vector<std::pair<Position, Node>> placed;
  for (const auto& [key, child] : value.as_table()) {
    placed.emplace_back(toml_compat::position_of(child, source.text),
                        converted(child, key, source));
  }
  std::sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second.key < b.second.key;
  });
  for (auto& [at, child] : placed) node.children.push_back(std::move(child));
}

Node converted(const toml::value& value, const std::string& key, const Source& source) {
  Node node;
  node.key = key;
  node.place = {source.name, toml_compat::position_of(value, source.text).line};
  if (value.is_table()) {
    convert_table(value, source, node);
  } else if (value.is_array()) {
    node.kind = Kind::array;
    for (const auto& item : value.as_array()) node.children.push_back(converted(item, "", source));
  } else if (value.is_integer()) {
    node.kind = Kind::integer;
    node.integer = value.as_integer();
  } else if (value.is_floating()) {
    node.kind = Kind::real;
    node.real = value.as_floating();
  } else if (value.is_boolean()) {
    node.kind = Kind::flag;
    node.flag = value.as_boolean();
  } else if (value.is_string()) {
    node.kind = Kind::text;
    node.text = toml::get<std::string>(value);
  } else {
    node.kind = Kind::date;
    node.text = "date";
  }
  return node;
}

/// toml11 3.x turns numbers that do not fit silently into the largest that does. Those are refused.
void check_numbers(const Node& node) {
  using Limits = std::numeric_limits<std::int64_t>;
  const bool integer_end = node.integer == Limits::max() || node.integer == Limits::min();
  const bool real_end = std::abs(node.real) == std::numeric_limits<double>::max();
  if (integer_end || real_end) {
    const std::string what = node.key.empty() ? "a number" : "the value of '" + node.key + "'";
    fail(Status::deck, node.place.text() + ": " + what + " is at or beyond the limit of 64 bits");
  }
  for (const Node& child : node.children) check_numbers(child);
}

/// Numbers all values in file order. A table can be opened twice ([a.b], [c], [a]), so the order
/// is that of the lines, not that of the tree; arrays count as one value.
void number_values(Node& root) {
  std::vector<Node*> nodes;
  const auto collect = [&nodes](auto&& self, Node& node) -> void {
    for (Node& child : node.children) {
      nodes.push_back(&child);
      if (child.is_table()) self(self, child);
    }
  };
  collect(collect, root);
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const Node* a, const Node* b) { return a->place.line < b->place.line; });
  int order = 0;
  for (Node* node : nodes) node->order = ++order;
}

std::string line_text(const std::string& text, int line) {
  std::istringstream lines(text);
  std::string found;
  for (int i = 0; i < line && std::getline(lines, found); ++i) {
  }
  return trim(found);
}

/// A longer one helps nobody.
constexpr std::size_t longest_quoted_line = 200;

/// The commonest slip: `interface = lev` without quotes.
std::string quote_hint(const std::string& line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string::npos) return "";
  const std::string value = trim(line.substr(equals + 1));
  const bool letter = !value.empty() && std::isalpha(static_cast<unsigned char>(value[0])) != 0;
  return letter ? "; a text must stand in double quotes, a boolean is true or false" : "";
}

[[noreturn]] void fail_syntax(const toml::syntax_error& error, const Source& source,
                              const std::string& text) {
  toml_compat::Problem problem = toml_compat::problem_of(error);
  problem.line = source.text.position(problem.line, 1).line;
  std::string reason = toml_compat::without_function(problem.reason);
  if (!reason.empty() && reason.back() == '.') reason.pop_back();
  if (!problem.remark.empty() && problem.remark != "here") {
    reason += (reason.empty() ? "" : ": ") + problem.remark;
  }
  if (reason.empty()) reason = "syntax error";
  const std::string line = line_text(text, problem.line);
  const bool fits = !line.empty() && line.size() <= longest_quoted_line;
  const std::string quoted = fits ? " (in: " + line + ")" : "";
  fail(Status::deck, Place{source.name, problem.line}.text() + ": not valid TOML: " + reason +
                         quoted + quote_hint(line));
}

/// The value of `text`, or nothing where it is no single TOML value.
std::optional<Node> read_value(const std::string& text, const Place& place) {
  const Source source = {place.file, TomlText("v = " + text + "\n", place)};
  std::istringstream input(source.text.broken());
  try {
    const toml::value document = toml::parse(input, place.file);
    const auto& table = document.as_table();
    if (table.size() != 1 || table.count("v") != 1) return std::nullopt;
    return converted(table.at("v"), "", source);
  } catch (const toml::exception&) {
    return std::nullopt;
  }
}

void set_place(Node& node, const Place& place) {
  node.place = place;
  for (Node& child : node.children) set_place(child, place);
}

}  // namespace

Node parse_toml(const std::string& text, const std::string& name) {
  const Source source = {name, TomlText(text, {name, 1})};
  std::istringstream input(source.text.broken());
  try {
    Node root = converted(toml::parse(input, name), "", source);
    root.place = {name, 0};
    check_numbers(root);
    number_values(root);
    return root;
  } catch (const toml::syntax_error& error) {
    fail_syntax(error, source, text);
  } catch (const toml::exception& error) {
    fail(Status::deck, name + ": not valid TOML: " + error.what());
  }
}

Node parse_toml_value(const std::string& text, const Place& place) {
  std::optional<Node> node = read_value(text, place);
  if (!node) {
    fail(Status::deck,
         place.text() + ": '" + text + "' is not a TOML value" + quote_hint("v = " + text));
  }
  set_place(*node, place);
  check_numbers(*node);
  return std::move(*node);
}

Node parse_loose_value(const std::string& text, const Place& place) {
  const bool quoted = text.find_first_of("\"'[{") == 0;
  // Behind a bare value '#' would open a comment, which nobody means on a command line.
  const bool bare = !quoted && text.find('#') != std::string::npos;
  if (quoted || (!bare && read_value(text, place))) return parse_toml_value(text, place);
  Node node;
  node.kind = Kind::text;
  node.text = text;
  node.place = place;
  return node;
}

}  // namespace lexikos

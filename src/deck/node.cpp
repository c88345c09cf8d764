#include "deck/node.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "utils/error.hpp"
#include "utils/text.hpp"

namespace lexikos {

namespace {

bool is_bare_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

std::string escaped(char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    default:
      break;
  }
  const auto code = static_cast<unsigned char>(c);
  if (code >= 0x20 && code != 0x7f) return std::string(1, c);
  std::array<char, 8> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "\\u%04X", code);
  return buffer.data();
}

std::string kind_name(Kind kind) {
  switch (kind) {
    case Kind::table:
      return "a table";
    case Kind::array:
      return "an array";
    case Kind::integer:
      return "an integer";
    case Kind::real:
      return "a real number";
    case Kind::flag:
      return "a boolean";
    case Kind::text:
      return "a string";
    case Kind::date:
      return "a date or time";
  }
  return "a value";
}

int last_order(const Node& node) {
  int order = node.order;
  for (const Node& child : node.children) order = std::max(order, last_order(child));
  return order;
}

}  // namespace

std::string Place::text() const { return line > 0 ? file + ":" + std::to_string(line) : file; }

const Node* Node::child(std::string_view name) const {
  if (!is_table()) return nullptr;
  const auto found = std::find_if(children.begin(), children.end(),
                                  [name](const Node& node) { return node.key == name; });
  return found == children.end() ? nullptr : &*found;
}

Node* Node::child(std::string_view name) {
  return const_cast<Node*>(static_cast<const Node*>(this)->child(name));
}

const Node* Node::at(const std::vector<std::string>& path) const {
  const Node* node = this;
  for (const std::string& name : path) {
    node = node->child(name);
    if (node == nullptr) return nullptr;
  }
  return node;
}

std::string Node::toml() const {
  switch (kind) {
    case Kind::integer:
      return toml_value(integer);
    case Kind::real:
      return toml_value(real);
    case Kind::flag:
      return toml_value(flag);
    case Kind::text:
      return toml_value(text);
    case Kind::date:
      return text;
    case Kind::array:
    case Kind::table:
      break;
  }
  std::vector<std::string> parts;
  for (const Node& child : children) {
    parts.push_back(is_table() ? toml_key(child.key) + " = " + child.toml() : child.toml());
  }
  const std::string inside = join(parts, ", ");
  if (!is_table()) return "[" + inside + "]";
  return parts.empty() ? "{}" : "{ " + inside + " }";
}

std::string Node::description() const {
  if (is_table() || kind == Kind::date) return kind_name(kind);
  constexpr std::size_t longest = 60;
  std::string value = toml();
  if (value.size() > longest) value = value.substr(0, longest) + "...";
  return kind_name(kind) + " (" + value + ")";
}

std::vector<std::string> path_of(std::string_view dotted) {
  if (dotted.empty()) return {};
  return split(dotted, '.');
}

std::string dotted_name(const std::string& table, const std::string& key) {
  return table.empty() ? key : table + "." + key;
}

bool is_bare_key(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), is_bare_letter);
}

bool is_dotted_key(std::string_view name) {
  const std::vector<std::string> parts = split(name, '.');
  return std::all_of(parts.begin(), parts.end(),
                     [](const std::string& part) { return is_bare_key(part); });
}

std::string toml_key(const std::string& name) {
  return is_bare_key(name) ? name : toml_value(name);
}

std::string toml_value(bool value) { return value ? "true" : "false"; }

std::string toml_value(std::int64_t value) { return std::to_string(value); }

std::string toml_value(double value) { return format_real(value); }

std::string toml_value(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) text += escaped(c);
  return text + "\"";
}

void insert(Node& root, const std::string& dotted, Node value) {
  const std::vector<std::string> path = path_of(dotted);
  const int last = last_order(root);
  const std::string where = value.place.text() + ": cannot set " + dotted + ": ";
  Node* table = &root;
  std::string name;
  for (std::size_t depth = 0; depth + 1 < path.size(); ++depth) {
    name = dotted_name(name, path[depth]);
    Node* next = table->child(path[depth]);
    if (next == nullptr) {
      Node made;
      made.key = path[depth];
      made.place = value.place;
      made.order = last + 1;
      table->children.push_back(made);
      next = &table->children.back();
    } else if (!next->is_table()) {
      fail(Status::deck, where + name + " is " + next->description() + ", not a table (" +
                             next->place.text() + ")");
    }
    table = next;
  }
  value.key = path.back();
  value.order = last + 1;
  Node* old = table->child(path.back());
  if (old == nullptr) {
    table->children.push_back(std::move(value));
    return;
  }
  if (old->is_table()) fail(Status::deck, where + "it is a table; give its keys one by one");
  value.order = old->order;
  *old = std::move(value);
}

void erase(Node& root, const std::string& dotted) {
  std::vector<std::string> path = path_of(dotted);
  const std::string key = path.back();
  path.pop_back();
  const Node* found = root.at(path);
  if (found == nullptr) return;
  auto& children = const_cast<Node*>(found)->children;
  std::erase_if(children, [&key](const Node& node) { return node.key == key; });
}

void clear_read_marks(const Node& node) {
  node.read = false;
  for (const Node& child : node.children) clear_read_marks(child);
}

}  // namespace lexikos

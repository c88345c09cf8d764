// The readers: conversion, checks and messages, once for all types.
#include <cmath>
#include <type_traits>
#include <utility>

#include "deck/deck.hpp"
#include "utils/error.hpp"
#include "utils/paths.hpp"
#include "utils/text.hpp"

namespace lexikos {

/// What is permitted beyond the type.
struct DeckTable::Rule {
  Range range = {};
  std::vector<std::string> choices = {};
  bool lone = false;  // one element of a list may stand without brackets
  bool path = false;  // of a file or folder

  [[nodiscard]] std::string text() const {
    return choices.empty() ? range.text() : "one of " + join(choices, ", ");
  }
};

namespace {

/// The value a message is about: "deck.toml:12" and "transformer.layers".
struct Subject {
  std::string place;
  std::string name;
  std::string remark = {};

  [[nodiscard]] std::string is(const std::string& value) const {
    return place + ": " + name + " = " + value + remark;
  }

  [[nodiscard]] Subject element(std::size_t index) const {
    return {place, name + "[" + std::to_string(index) + "]", remark};
  }
};

template <class T>
struct Form;

template <>
struct Form<std::int64_t> {
  static constexpr const char* type = "integer";
  static constexpr const char* expected = "an integer";

  static bool convert(const Node& node, std::int64_t& value) {
    value = node.integer;
    return node.kind == Kind::integer;
  }

  /// 1e9 is a real in TOML, which surprises people who count tokens.
  static std::string hint(const Node& node) {
    const bool whole = node.kind == Kind::real && node.real == std::floor(node.real);
    if (!whole || std::abs(node.real) >= 9e18) return "";
    return ": write " + std::to_string(static_cast<std::int64_t>(node.real));
  }
};

template <>
struct Form<double> {
  static constexpr const char* type = "real";
  static constexpr const char* expected = "a real number";

  static bool convert(const Node& node, double& value) {
    value = node.kind == Kind::integer ? static_cast<double>(node.integer) : node.real;
    return node.kind == Kind::integer || node.kind == Kind::real;
  }

  static std::string hint(const Node&) { return ""; }
};

template <>
struct Form<bool> {
  static constexpr const char* type = "boolean";
  static constexpr const char* expected = "a boolean";

  static bool convert(const Node& node, bool& value) {
    value = node.flag;
    return node.kind == Kind::flag;
  }

  static std::string hint(const Node&) { return ": write true or false"; }
};

template <>
struct Form<std::string> {
  static constexpr const char* type = "text";
  static constexpr const char* expected = "a string";

  static bool convert(const Node& node, std::string& value) {
    value = node.text;
    return node.kind == Kind::text;
  }

  static std::string hint(const Node& node) {
    const bool scalar =
        node.kind == Kind::integer || node.kind == Kind::real || node.kind == Kind::flag;
    if (!scalar) return "";
    const std::string quoted = toml_value(node.toml());
    return node.place.line > 0 ? ": write " + quoted : ": write '" + quoted + "'";
  }
};

template <class T>
struct Element {
  using type = void;
};

template <class T>
struct Element<std::vector<T>> {
  using type = T;
};

template <class T>
constexpr bool is_list = !std::is_void_v<typename Element<T>::type>;

template <class T>
std::string type_name() {
  if constexpr (is_list<T>) {
    return std::string("list of ") + Form<typename Element<T>::type>::type + "s";
  } else {
    return Form<T>::type;
  }
}

[[noreturn]] void fail_type(const Node& node, const std::string& name, const std::string& expected,
                            const std::string& hint) {
  fail(Status::deck, node.place.text() + ": " + name + " is " + node.description() + "; " +
                         expected + " is expected" + hint);
}

template <class Rule>
void check(std::int64_t value, const Rule& rule, const Subject& subject) {
  if (rule.range.contains(value)) return;
  fail(Status::deck,
       subject.is(toml_value(value)) + " is out of range: must be " + rule.range.text());
}

template <class Rule>
void check(double value, const Rule& rule, const Subject& subject) {
  if (std::isfinite(value) && rule.range.contains(value)) return;
  const std::string permitted = rule.range.text();
  fail(Status::deck, subject.is(toml_value(value)) + " is out of range: must be " +
                         (permitted.empty() ? "a number" : permitted));
}

template <class Rule>
void check(bool /*value*/, const Rule& /*rule*/, const Subject& /*subject*/) {}

template <class Rule>
void check(const std::string& value, const Rule& rule, const Subject& subject) {
  if (rule.choices.empty()) return;
  for (const std::string& choice : rule.choices) {
    if (choice == value) return;
  }
  const std::string near = nearest(value, rule.choices);
  fail(Status::deck, subject.is(toml_value(value)) + " is not one of " + join(rule.choices, ", ") +
                         (near.empty() ? "" : "; did you mean " + toml_value(near) + "?"));
}

std::string path_in(const std::string& value, const Subject& subject) {
  try {
    return usable_path(value);
  } catch (const Error& error) {
    fail(error.status(), subject.place + ": " + subject.name + ": " + error.what());
  }
}

/// A default is checked like a given value: it may follow from other keys.
template <class T, class Rule>
void check_default(const T& value, const Rule& rule, const Subject& subject) {
  if constexpr (is_list<T>) {
    for (std::size_t i = 0; i < value.size(); ++i) check(value[i], rule, subject.element(i));
  } else {
    check(value, rule, subject);
  }
}

template <class T, class Rule>
T converted(const Node& node, const std::string& name, const Rule& rule) {
  T value{};
  if constexpr (is_list<T>) {
    using E = typename Element<T>::type;
    E alone{};
    if (rule.lone && Form<E>::convert(node, alone)) return {converted<E>(node, name, rule)};
    if (node.kind != Kind::array) {
      fail_type(node, name,
                std::string(rule.lone ? Form<E>::expected : "") + (rule.lone ? " or " : "") +
                    "an array of " + Form<E>::type + "s",
                "");
    }
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      const std::string element = name + "[" + std::to_string(i) + "]";
      value.push_back(converted<E>(node.children[i], element, rule));
    }
  } else {
    if (!Form<T>::convert(node, value)) {
      fail_type(node, name, Form<T>::expected, Form<T>::hint(node));
    }
    check(value, rule, {node.place.text(), name});
    if constexpr (std::is_same_v<T, std::string>) {
      if (rule.path) value = path_in(value, {node.place.text(), name});
    }
  }
  return value;
}

/// A permitted value for a required key of a blank deck or an idle table.
template <class T, class Rule>
T stand_in(const Rule& rule) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return rule.range.any_integer();
  } else if constexpr (std::is_same_v<T, double>) {
    return rule.range.any_real();
  } else if constexpr (std::is_same_v<T, std::string>) {
    return rule.choices.empty() ? "" : rule.choices.front();
  } else {
    return T{};
  }
}

}  // namespace

template <class T>
T DeckTable::read(const Key& key, const std::optional<T>& fallback, const Rule& rule) const {
  const std::string dotted = dotted_name(name_, key.name);
  const Node* node = deck_->root_.at(path_of(dotted));
  const bool stands_in = idle_ && !fallback;
  if (node == nullptr && !fallback && !stands_in) fail_missing(key, type_name<T>());
  T value{};
  if (node != nullptr) {
    node->read = true;
    value = converted<T>(*node, dotted, rule);
  } else if (fallback) {
    value = *fallback;
    check_default(value, rule, {deck_->name_, dotted, " (its default)"});
  } else {
    value = stand_in<T>(rule);
  }
  const std::string type = (rule.lone ? "text or " : "") + type_name<T>();
  KeyDoc doc = {name_, key.name, type, "required", rule.text(), key.unit, key.doc};
  if (fallback)
    doc.default_text = key.default_note.empty() ? toml_value(*fallback) : key.default_note;
  deck_->listing_.add({doc, toml_value(value), node != nullptr, !idle_});
  return value;
}

void DeckTable::fail_missing(const Key& key, const std::string& type) const {
  const std::string place = name_.empty() ? "the top level" : "[" + name_ + "]";
  std::string message = deck_->name_ + ": the key '" + key.name + "' is required in " + place;
  message += " (" + type + (key.unit.empty() ? "" : ", in " + key.unit);
  message += (key.doc.empty() ? "" : "; " + key.doc) + ")";
  // A mistyped required key is missing before it is unknown: name the candidate at once.
  const Node* table = deck_->root_.at(path_of(name_));
  std::vector<std::string> unread;
  if (table != nullptr) {
    for (const Node& child : table->children) {
      if (!child.read && !child.is_table()) unread.push_back(child.key);
    }
  }
  const std::string near = nearest(key.name, unread);
  if (!near.empty()) {
    message += "; is '" + near + "' meant (" + table->child(near)->place.text() + ")?";
  }
  fail(Status::deck, message);
}

std::int64_t DeckTable::integer(const Key& key, std::int64_t fallback, const Range& range) const {
  return read<std::int64_t>(key, fallback, {range});
}

std::int64_t DeckTable::integer(const Key& key, Required, const Range& range) const {
  return read<std::int64_t>(key, std::nullopt, {range});
}

double DeckTable::real(const Key& key, double fallback, const Range& range) const {
  return read<double>(key, fallback, {range});
}

double DeckTable::real(const Key& key, Required, const Range& range) const {
  return read<double>(key, std::nullopt, {range});
}

bool DeckTable::flag(const Key& key, bool fallback) const { return read<bool>(key, fallback, {}); }

bool DeckTable::flag(const Key& key, Required) const { return read<bool>(key, std::nullopt, {}); }

std::string DeckTable::text(const Key& key, const std::string& fallback) const {
  return read<std::string>(key, fallback, {});
}

std::string DeckTable::text(const Key& key, Required) const {
  return read<std::string>(key, std::nullopt, {});
}

std::string DeckTable::path(const Key& key, const std::string& fallback) const {
  return read<std::string>(key, fallback, {.path = true});
}

std::string DeckTable::path(const Key& key, Required) const {
  return read<std::string>(key, std::nullopt, {.path = true});
}

std::string DeckTable::choice(const Key& key, const std::string& fallback,
                              const std::vector<std::string>& choices) const {
  return read<std::string>(key, fallback, {{}, choices});
}

std::string DeckTable::choice(const Key& key, Required,
                              const std::vector<std::string>& choices) const {
  return read<std::string>(key, std::nullopt, {{}, choices});
}

std::vector<std::int64_t> DeckTable::integers(const Key& key,
                                              const std::vector<std::int64_t>& fallback,
                                              const Range& range) const {
  return read<std::vector<std::int64_t>>(key, fallback, {range});
}

std::vector<std::int64_t> DeckTable::integers(const Key& key, Required, const Range& range) const {
  return read<std::vector<std::int64_t>>(key, std::nullopt, {range});
}

std::vector<double> DeckTable::reals(const Key& key, const std::vector<double>& fallback,
                                     const Range& range) const {
  return read<std::vector<double>>(key, fallback, {range});
}

std::vector<double> DeckTable::reals(const Key& key, Required, const Range& range) const {
  return read<std::vector<double>>(key, std::nullopt, {range});
}

std::vector<std::string> DeckTable::texts(const Key& key, const std::vector<std::string>& fallback,
                                          const std::vector<std::string>& choices) const {
  return read<std::vector<std::string>>(key, fallback, {{}, choices});
}

std::vector<std::string> DeckTable::texts(const Key& key, Required,
                                          const std::vector<std::string>& choices) const {
  return read<std::vector<std::string>>(key, std::nullopt, {{}, choices});
}

std::vector<std::string> DeckTable::paths(const Key& key, Required) const {
  return read<std::vector<std::string>>(key, std::nullopt, {.path = true});
}

std::vector<std::string> DeckTable::path_or_paths(const Key& key,
                                                  const std::vector<std::string>& fallback) const {
  return read<std::vector<std::string>>(key, fallback, {.lone = true, .path = true});
}

bool DeckTable::has(const std::string& key) const { return deck_->has(dotted_name(name_, key)); }

std::string DeckTable::statement(const std::string& key) const {
  const std::string dotted = dotted_name(name_, key);
  const Node* node = deck_->root_.at(path_of(dotted));
  const ReadKey* known = deck_->listing_.find(name_, key);
  Subject subject = {node != nullptr ? node->place.text() : deck_->name_, dotted};
  if (node == nullptr) subject.remark = " (its default)";
  const std::string value = known != nullptr ? known->value : "?";
  return subject.is(value);
}

void DeckTable::reject(const std::string& key, const std::string& why) const {
  fail(Status::deck, statement(key) + " " + why);
}

}  // namespace lexikos

// Attributes: the named values that every file of the code carries beside its arrays.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lexikos {

/// Text, whole number or real number: what an attribute of our files may be.
using AttributeValue = std::variant<std::string, std::int64_t, double>;

/// An ordered list name -> value, written to a file's root (or any object) as it stands.
class Attributes {
 public:
  using Entry = std::pair<std::string, AttributeValue>;

  /// Sets or replaces one value; the order of first setting is kept. Returns *this, to be chained.
  Attributes& set(const std::string& name, const std::string& value);
  Attributes& set(const std::string& name, const char* value);
  Attributes& set(const std::string& name, std::int64_t value);
  Attributes& set(const std::string& name, int value);
  Attributes& set(const std::string& name, double value);
  Attributes& set(const std::string& name, const AttributeValue& value);
  /// Adds the entries of `other` whose names are not here yet, in their order.
  Attributes& add_missing(const Attributes& other);

  /// The value, or nullptr where the name is absent.
  [[nodiscard]] const AttributeValue* find(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const { return find(name) != nullptr; }

  /// The value as one type; absent or of another kind: Error(Status::file) naming the attribute.
  /// `real` also accepts a whole number.
  [[nodiscard]] const std::string& text(const std::string& name) const;
  [[nodiscard]] std::int64_t integer(const std::string& name) const;
  [[nodiscard]] double real(const std::string& name) const;

  [[nodiscard]] const std::vector<Entry>& entries() const& { return entries_; }
  // By value from a temporary, so that a loop over `file.attributes("/").entries()` is sound.
  [[nodiscard]] std::vector<Entry> entries() && { return std::move(entries_); }
  [[nodiscard]] bool empty() const { return entries_.empty(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace lexikos

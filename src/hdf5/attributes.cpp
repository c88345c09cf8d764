#include "hdf5/attributes.hpp"

#include "utils/error.hpp"

namespace lexikos {

Attributes& Attributes::set(const std::string& name, const AttributeValue& value) {
  for (Entry& entry : entries_) {
    if (entry.first == name) {
      entry.second = value;
      return *this;
    }
  }
  entries_.emplace_back(name, value);
  return *this;
}

Attributes& Attributes::set(const std::string& name, const std::string& value) {
  return set(name, AttributeValue(value));
}
Attributes& Attributes::set(const std::string& name, const char* value) {
  return set(name, AttributeValue(std::string(value)));
}
Attributes& Attributes::set(const std::string& name, std::int64_t value) {
  return set(name, AttributeValue(value));
}
Attributes& Attributes::set(const std::string& name, int value) {
  return set(name, AttributeValue(static_cast<std::int64_t>(value)));
}
Attributes& Attributes::set(const std::string& name, double value) {
  return set(name, AttributeValue(value));
}

Attributes& Attributes::add_missing(const Attributes& other) {
  for (const Entry& entry : other.entries_) {
    if (!has(entry.first)) entries_.push_back(entry);
  }
  return *this;
}

const AttributeValue* Attributes::find(const std::string& name) const {
  for (const Entry& entry : entries_) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

namespace {

const AttributeValue& required(const Attributes& attributes, const std::string& name) {
  const AttributeValue* value = attributes.find(name);
  if (value == nullptr) fail(Status::file, "attribute '" + name + "' is missing");
  return *value;
}

}  // namespace

const std::string& Attributes::text(const std::string& name) const {
  const AttributeValue& value = required(*this, name);
  if (!std::holds_alternative<std::string>(value)) {
    fail(Status::file, "attribute '" + name + "' is a number where text is expected");
  }
  return std::get<std::string>(value);
}

std::int64_t Attributes::integer(const std::string& name) const {
  const AttributeValue& value = required(*this, name);
  if (!std::holds_alternative<std::int64_t>(value)) {
    fail(Status::file, "attribute '" + name + "' is not a whole number");
  }
  return std::get<std::int64_t>(value);
}

double Attributes::real(const std::string& name) const {
  const AttributeValue& value = required(*this, name);
  if (std::holds_alternative<std::int64_t>(value)) {
    return static_cast<double>(std::get<std::int64_t>(value));
  }
  if (!std::holds_alternative<double>(value)) {
    fail(Status::file, "attribute '" + name + "' is text where a number is expected");
  }
  return std::get<double>(value);
}

}  // namespace lexikos

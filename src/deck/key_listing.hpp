// What has been asked of a deck: the source of the resolved deck, of the key reference, and of
// the suggestions for mistyped keys.
#pragma once

#include <string>
#include <vector>

namespace lexikos {

/// One key as its reader described it.
struct KeyDoc {
  std::string table;         ///< "embedding.lev"; "" for the top level
  std::string name;          ///< "knots"
  std::string type;          ///< integer, real, boolean, text, list of ...
  std::string default_text;  ///< as TOML, or how it follows from other keys; "required" if none
  std::string range_text;    ///< permitted range or choices; "" where anything is permitted
  std::string unit;          ///< "tokens", "1/step"; "" for a plain number
  std::string doc;           ///< what it means, one line
};

/// A key that was read, with the value in force.
struct ReadKey {
  KeyDoc doc;
  std::string value;      ///< as TOML
  bool given = false;     ///< in the deck or on the command line, not a default
  bool in_force = false;  ///< part of the resolved deck
};

/// Keys and tables in the order in which they were first asked for.
class KeyListing {
 public:
  /// Notes a key that was read; a second reading changes nothing. Throws Error(deck) where two
  /// readers of a missing key have different defaults, which would run with two truths.
  void add(const ReadKey& key);

  /// Notes that a table was asked for.
  void add_table(const std::string& name);

  /// The key, or nullptr if nobody asked for it.
  [[nodiscard]] const ReadKey* find(const std::string& table, const std::string& name) const;

  [[nodiscard]] const std::vector<ReadKey>& keys() const { return keys_; }

  /// Every table asked for and every table above one.
  [[nodiscard]] std::vector<std::string> tables() const;

  /// TOML text of every key in force: top level first, then by table in first-read order.
  [[nodiscard]] std::string resolved() const;

 private:
  std::vector<ReadKey> keys_;
  std::vector<std::string> tables_;
};

/// Markdown for inputs/README.md, one table of rows per deck table:
/// key | type | default | unit, range or choices | meaning.
std::string key_reference_markdown(const std::vector<KeyDoc>& keys);

}  // namespace lexikos

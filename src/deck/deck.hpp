// The deck: a TOML file plus command-line overrides, read strictly.
//
//   const Deck deck = Deck::from_file("first_run.toml", {"embedding.interface=lev"});
//   const DeckTable table = deck.table("transformer");
//   const Key layers = {.name = "layers", .doc = "number of blocks"};
//   layers_ = table.integer(layers, 4, Between(1, 4096));
//   ...
//   deck.check_all_read();        // a key nobody read is an error
//   write(deck.resolved());       // every value in force, defaults included
//
// Every Error thrown here has Status::deck and begins with file and line. A relative path that a
// deck gives is relative to the working directory, not to the deck. Not thread-safe: reading
// leaves marks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "deck/key_listing.hpp"
#include "deck/node.hpp"
#include "deck/range.hpp"

namespace lexikos {

class Deck;

/// What a reader says about a key. `doc` is one line without a full stop.
struct Key {
  std::string name;               ///< last component: "layers"
  std::string doc = "";           ///< "number of blocks"
  std::string unit = "";          ///< "tokens", "1/step"; empty for a plain number
  std::string default_note = "";  ///< for the reference: how a default follows from other keys
};

/// Stands where a default would: the deck has to give the key.
struct Required {
  struct Tag {};  // keeps {} and {1} from meaning "required" where they mean an empty or short list
  explicit constexpr Required(Tag) {}
};
inline constexpr Required required{Required::Tag{}};

/// A cheap handle on one table, which may be absent: then all keys take their defaults. Valid as
/// long as its Deck stays where it is.
///
/// Each reader checks type, range and choices, marks the key as read, and notes its description.
/// Reading a key twice gives the same value. Throws Error(deck) on a wrong type, a value out of
/// range or not among the choices, and on a missing required key.
class DeckTable {
 public:
  std::int64_t integer(const Key& key, std::int64_t fallback, const Range& range = {}) const;
  std::int64_t integer(const Key& key, Required, const Range& range = {}) const;

  /// Accepts TOML integers as well. NaN and infinity are refused.
  double real(const Key& key, double fallback, const Range& range = {}) const;
  double real(const Key& key, Required, const Range& range = {}) const;

  bool flag(const Key& key, bool fallback) const;
  bool flag(const Key& key, Required) const;

  std::string text(const Key& key, const std::string& fallback) const;
  std::string text(const Key& key, Required) const;

  /// The path of a file or folder, that may not be there yet: utils/paths.hpp says what is refused
  /// and that "~" is the home folder. Empty where it is given so.
  std::string path(const Key& key, const std::string& fallback) const;
  std::string path(const Key& key, Required) const;

  std::string choice(const Key& key, const std::string& fallback,
                     const std::vector<std::string>& choices) const;
  std::string choice(const Key& key, Required, const std::vector<std::string>& choices) const;

  /// Lists; the range or the choices hold for every element, the length is the caller's to check.
  std::vector<std::int64_t> integers(const Key& key, const std::vector<std::int64_t>& fallback,
                                     const Range& range = {}) const;
  std::vector<std::int64_t> integers(const Key& key, Required, const Range& range = {}) const;
  std::vector<double> reals(const Key& key, const std::vector<double>& fallback,
                            const Range& range = {}) const;
  std::vector<double> reals(const Key& key, Required, const Range& range = {}) const;
  std::vector<std::string> texts(const Key& key, const std::vector<std::string>& fallback,
                                 const std::vector<std::string>& choices = {}) const;
  std::vector<std::string> texts(const Key& key, Required,
                                 const std::vector<std::string>& choices = {}) const;

  /// Lists of paths, of which a single one may stand without brackets in path_or_paths.
  std::vector<std::string> paths(const Key& key, Required) const;
  std::vector<std::string> path_or_paths(const Key& key,
                                         const std::vector<std::string>& fallback) const;

  /// True if the deck gives this key; does not count as reading it.
  [[nodiscard]] bool has(const std::string& key) const;

  /// Throws Error(deck) about a key that was read and does not go with others:
  /// reject("heads", "does not divide width = 256") says
  /// "deck.toml:12: transformer.heads = 3 does not divide width = 256".
  [[noreturn]] void reject(const std::string& key, const std::string& why) const;

  /// "deck.toml:12: transformer.heads = 3", the beginning of a message about a key that was read.
  [[nodiscard]] std::string statement(const std::string& key) const;

  /// "embedding.lev"; "" for the top level.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  friend class Deck;
  struct Rule;

  DeckTable(const Deck& deck, std::string name, bool idle)
      : deck_(&deck), name_(std::move(name)), idle_(idle) {}

  template <class T>
  T read(const Key& key, const std::optional<T>& fallback, const Rule& rule) const;
  [[noreturn]] void fail_missing(const Key& key, const std::string& type) const;

  const Deck* deck_;
  std::string name_;
  bool idle_;
};

/// The deck of one run. Copies have their own read marks.
class Deck {
 public:
  /// Reads a TOML file, then applies overrides "table.key=value" in order; a later one wins. A
  /// value that is no TOML is taken as a string, so that embedding.interface=lev works. A key
  /// that the file does not have may be set, since it may have a default.
  static Deck from_file(const std::string& path, const std::vector<std::string>& overrides = {});

  /// Reads a text as from_file reads a file, with its overrides; `name` is what messages call it.
  static Deck from_string(const std::string& text, const std::string& name,
                          const std::vector<std::string>& overrides = {});

  /// An empty deck in which a required key yields some permitted value, so that every reader can
  /// run and keys() becomes the key reference.
  static Deck blank();

  /// A table by its dotted name, "" for the top level. Throws Error(deck) if it is a value.
  [[nodiscard]] DeckTable table(const std::string& name) const;

  /// While it exists, every table() of the deck is an idle_table().
  class Idle {
   public:
    explicit Idle(const Deck& deck) : deck_(deck) { deck_.idle_ = true; }
    ~Idle() { deck_.idle_ = false; }
    Idle(const Idle&) = delete;
    Idle& operator=(const Idle&) = delete;

   private:
    const Deck& deck_;
  };

  /// A table that this run does not use, such as [embedding.lev] where the interface is tied. Its
  /// keys are checked and count as known, but need not be there and stay out of resolved().
  [[nodiscard]] DeckTable idle_table(const std::string& name) const;

  /// True if the deck gives this key or table; does not count as reading it.
  [[nodiscard]] bool has(const std::string& dotted) const;

  /// Throws Error(deck) if there is a key or table nobody asked for, with its file, line and the
  /// nearest known name.
  void check_all_read() const;

  /// TOML text of every key that was read, with the value in force and a comment; reads back to
  /// the same values.
  [[nodiscard]] std::string resolved() const;

  /// Every key asked for, in order of first reading.
  [[nodiscard]] std::vector<KeyDoc> keys() const;

  /// Adds a description to keys(), for a key that is read in another way than through a table.
  void note(const KeyDoc& doc) const;

  /// A copy with one value set, unread. `toml` is a TOML value ("0.1", "\"lev\""); messages say
  /// that it stands at `place`.
  [[nodiscard]] Deck with(const std::string& dotted, const std::string& toml,
                          const Place& place = {"program", 0}) const;

  /// A copy without a key or table, unread.
  [[nodiscard]] Deck without(const std::string& dotted) const;

  /// File name, or what from_string was told.
  [[nodiscard]] const std::string& name() const { return name_; }

  /// The values as they were given.
  [[nodiscard]] const Node& root() const { return root_; }

 private:
  friend class DeckTable;

  Deck() = default;
  void apply_override(const std::string& text);
  void forget_readings();

  std::string name_;
  Node root_;
  bool blank_ = false;
  mutable bool idle_ = false;   // set by Idle
  mutable KeyListing listing_;  // a record of reading, not part of the deck's value
};

}  // namespace lexikos

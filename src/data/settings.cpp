#include "data/settings.hpp"

#include "utils/error.hpp"

namespace lexikos {
namespace {

constexpr const char* mixture_table = "data.mixture";

std::string read_format(const DeckTable& table, const std::string& otherwise,
                        const std::string& note = "") {
  return table.choice({.name = "format",
                       .doc = "of the files: recognised by their content, or raw uint16, which "
                              "cannot be",
                       .default_note = note},
                      otherwise, {"auto", "nanogpt"});
}

/// Paths; an empty one is none, so that a command line can take a deck's away.
std::vector<std::string> read_files(const DeckTable& table, const std::string& name,
                                    const std::string& doc) {
  std::vector<std::string> files = table.path_or_paths({.name = name, .doc = doc}, {});
  std::erase(files, "");
  return files;
}

/// [data.mixture.<name>]: one table a source.
void read_mixture(const Deck& deck, DataSettings& s) {
  const Node* mixture = deck.root().at(path_of(mixture_table));
  (void)deck.table(mixture_table);  // a known table, though it has no keys itself
  if (mixture == nullptr) return;
  for (const Node& child : mixture->children) {
    if (!child.is_table() || !is_bare_key(child.key)) {
      fail(Status::deck, child.place.text() + ": data.mixture." + child.key +
                             (child.is_table() ? " is no plain name" : " is a value") +
                             "; each source is a table of its own, [data.mixture.<name>]");
    }
    const DeckTable table = deck.table(dotted_name(mixture_table, child.key));
    SourceSettings source;
    source.name = child.key;
    source.files = read_files(table, "tokens", "files of this source, end to end");
    source.format = read_format(table, s.format, "data.format");
    source.weight =
        table.real({.name = "weight", .doc = "share of the samples, beside the others'"}, required,
                   Between(1e-12, 1e12));
    if (source.files.empty()) table.reject("tokens", "names no file");
    s.sources.push_back(source);
  }
}

/// For the key reference, where no source has a name.
void note_mixture(const Deck& deck) {
  const auto note = [&](const char* name, const char* type, const char* otherwise,
                        const char* range, const char* doc) {
    deck.note({"data", std::string("mixture.<name>.") + name, type, otherwise, range, "", doc});
  };
  note("tokens", "text or list of texts", "required", "",
       "instead of tokens: files of one source of a mixture, whose samples take turns by weight");
  note("format", "text", "data.format", "one of auto, nanogpt", "of these files");
  note("weight", "real", "required", "between 1e-12 and 10^12",
       "share of this source in the samples, beside the others'");
}

}  // namespace

DataSettings DataSettings::read(const Deck& deck) {
  DataSettings s;
  const DeckTable data = deck.table("data");
  s.synthetic = data.choice({.name = "source", .doc = "token files, or made-up ids"}, "file",
                            {"file", "synthetic"}) == "synthetic";
  const std::vector<std::string> files =
      read_files(data, "tokens",
                 "training tokens: tokens.h5, or .bin of nanoGPT, llm.c or Megatron; "
                 "several are read end to end");
  s.format = read_format(data, "auto");
  s.validation =
      read_files(data, "validation",
                 "validation tokens, files as above; empty: the validation split of data.tokens");
  s.vocabulary_size =
      data.integer({.name = "vocabulary_size", .doc = "V; 0: the tokens file's", .unit = "tokens"},
                   0, Between(0, 0x1p31));
  s.end_of_text =
      data.integer({.name = "end_of_text", .doc = "id between documents; -1: as the files say"}, -1,
                   Between(-1, 0x1p32));
  s.cross_shards =
      data.flag({.name = "cross_shards", .doc = "windows go on from one file to the next"}, true);
  s.document_mask =
      data.flag({.name = "document_mask",
                 .doc = "attention stays inside a document; every target counts all the same"},
                false);
  s.allow_changed = data.flag(
      {.name = "allow_changed",
       .doc = "restart although token files, seed, batch or mixture are not those of before"},
      false);
  s.read_ahead = data.flag(
      {.name = "read_ahead", .doc = "put the next step's batch together in the background"}, true);
  s.counted_tokens = data.integer(
      {.name = "counted_tokens",
       .doc = "training tokens counted at start, for frequencies, where the file has no counts, in "
              "blocks spread evenly; 0: all",
       .unit = "tokens"},
      Index{1} << 30, Between(0, 1e15));
  if (!files.empty()) s.sources.push_back({"", files, s.format, 1.0});
  read_mixture(deck, s);
  note_mixture(deck);
  if (!files.empty() && s.sources.size() > 1) {
    data.reject("tokens", "stands beside [data.mixture]; name the files there");
  }
  return s;
}

}  // namespace lexikos

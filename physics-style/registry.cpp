#include "registry.hpp"

#include "embedding/binary_code/binary_code.hpp"
#include "embedding/lev/lev.hpp"
#include "embedding/tied/tied.hpp"
#include "embedding/untied/untied.hpp"

namespace lexikos {
namespace {

template <class S>
struct Entry {
  const char* name;
  EmbeddingFactory<S> (*read)(const DeckTable&);
};

/// The one list of input interfaces.
template <class S>
constexpr Entry<S> entries[] = {
    {"tied", tied::read<S>},
    {"untied", untied::read<S>},
    {"lev", lev::read<S>},
    {"binary_code", binary_code::read<S>},
};

}  // namespace

std::vector<std::string> embedding_names() {
  std::vector<std::string> names;
  for (const auto& entry : entries<float>) names.emplace_back(entry.name);
  return names;
}

std::string embedding_interface(const Deck& deck) {
  return deck.table("embedding")
      .choice({.name = "interface", .doc = "how a token becomes its input vector"}, "tied",
              embedding_names());
}

template <class S>
EmbeddingFactory<S> read_embedding(const Deck& deck) {
  const std::string chosen = embedding_interface(deck);
  EmbeddingFactory<S> factory;
  for (const auto& entry : entries<S>) {
    const std::string table = std::string("embedding.") + entry.name;
    if (chosen == entry.name) {
      factory = entry.read(deck.table(table));
    } else {
      entry.read(deck.idle_table(table));
    }
  }
  return factory;
}

template EmbeddingFactory<float> read_embedding<float>(const Deck&);
template EmbeddingFactory<double> read_embedding<double>(const Deck&);

}  // namespace lexikos

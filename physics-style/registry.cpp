#include "registry.hpp"

#include "embedding/albert/albert.hpp"
#include "embedding/binary_code/binary_code.hpp"
#include "embedding/factored_mlp/factored_mlp.hpp"
#include "embedding/flat_mlp/flat_mlp.hpp"
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
    {"albert", albert::read<S>},
    {"flat_mlp", flat_mlp::read<S>},
    {"factored_mlp", factored_mlp::read<S>},
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
  // What matched interfaces aim at. Read once more, because the table may be idle or in use.
  const std::string lev_table = "embedding.lev";
  const lev::Settings lev =
      lev::read_settings(chosen == "lev" ? deck.table(lev_table) : deck.idle_table(lev_table));
  return [factory, lev](ModelShape shape) {
    const Index base = lev::base_of(lev, shape.vocabulary);
    shape.matched_parameters = lev::parameter_count(lev, base, shape.width);
    return factory(shape);
  };
}

template EmbeddingFactory<float> read_embedding<float>(const Deck&);
template EmbeddingFactory<double> read_embedding<double>(const Deck&);

}  // namespace lexikos

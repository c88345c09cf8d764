#include "registry.hpp"

namespace lexikos {
namespace {

/// A type as a value, to call a function once for each of a list of types.
template <class T>
struct Type {
  using type = T;
};

/// Calls work(Type<Settings>{}) for every interface, in the order of the list.
template <class Work, class... Settings>
void for_all(const Work& work, Type<std::variant<Settings...>>) {
  (work(Type<Settings>{}), ...);
}

template <class Work>
void for_all_interfaces(const Work& work) {
  for_all(work, Type<EmbeddingSettings>{});
}

template <class Settings>
Settings read_table(const Deck& deck, const std::string& chosen) {
  const std::string table = std::string("embedding.") + Settings::name;
  return Settings::read(chosen == Settings::name ? deck.table(table) : deck.idle_table(table));
}

}  // namespace

std::vector<std::string> embedding_names() {
  std::vector<std::string> names;
  for_all_interfaces([&](auto one) { names.emplace_back(decltype(one)::type::name); });
  return names;
}

EmbeddingSettings read_embedding(const Deck& deck) {
  const std::string chosen =
      deck.table("embedding")
          .choice({.name = "interface", .doc = "how a token becomes its input vector"},
                  tied::Settings::name, embedding_names());
  EmbeddingSettings result;
  for_all_interfaces([&](auto one) {
    using Settings = typename decltype(one)::type;
    const Settings settings = read_table<Settings>(deck, chosen);
    if (chosen == Settings::name) result = settings;
  });
  // Interfaces whose size may follow lev's are told lev's settings in the same deck.
  const lev::Settings lev = read_table<lev::Settings>(deck, chosen);
  std::visit(
      [&](auto& settings) {
        if constexpr (requires { settings.match(lev); }) settings.match(lev);
      },
      result);
  return result;
}

std::string stored_table(const std::string& name) {
  std::string table;
  for_all_interfaces([&](auto one) {
    using Settings = typename decltype(one)::type;
    if constexpr (requires { Settings::table; }) {
      if (name == Settings::name) table = Settings::table;
    }
  });
  return table;
}

std::string embedding_name(const EmbeddingSettings& settings) {
  return std::visit([](const auto& s) { return std::string(s.name); }, settings);
}

std::string table_interface(bool shares_head) {
  return shares_head ? tied::Settings::name : untied::Settings::name;
}

template <class S>
std::unique_ptr<Embedding<S>> make_embedding(const EmbeddingSettings& settings,
                                             const ModelShape& shape) {
  return std::visit([&](const auto& s) { return s.template make<S>(shape); }, settings);
}

template std::unique_ptr<Embedding<float>> make_embedding<float>(const EmbeddingSettings&,
                                                                 const ModelShape&);
template std::unique_ptr<Embedding<double>> make_embedding<double>(const EmbeddingSettings&,
                                                                   const ModelShape&);

}  // namespace lexikos

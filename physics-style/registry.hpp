// Which input interfaces exist, by deck name.
#pragma once

#include <string>
#include <vector>

#include "embedding/embedding.hpp"

namespace lexikos {

/// Reads embedding.interface, the deck name of the chosen interface.
std::string embedding_interface(const Deck& deck);

/// Reads embedding.interface and the tables of all interfaces (so that a deck may configure more
/// than the one it uses, as sweeps do); returns the factory of the chosen one.
template <class S>
EmbeddingFactory<S> read_embedding(const Deck& deck);

/// The deck names, in the order of the registry.
std::vector<std::string> embedding_names();

}  // namespace lexikos

// Which input interfaces exist.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "embedding/albert/albert.hpp"
#include "embedding/binary_code/binary_code.hpp"
#include "embedding/factored_mlp/factored_mlp.hpp"
#include "embedding/flat_mlp/flat_mlp.hpp"
#include "embedding/lev/lev.hpp"
#include "embedding/tied/tied.hpp"
#include "embedding/untied/untied.hpp"

namespace lexikos {

/// The one list of input interfaces: what each reads from its deck table [embedding.<name>].
using EmbeddingSettings =
    std::variant<tied::Settings, untied::Settings, albert::Settings, flat_mlp::Settings,
                 factored_mlp::Settings, lev::Settings, binary_code::Settings>;

/// The deck names, in the order of the list.
std::vector<std::string> embedding_names();

/// Reads embedding.interface and the tables of all interfaces (so that a deck may configure more
/// than the one it uses, as sweeps do); returns what the chosen one read.
EmbeddingSettings read_embedding(const Deck& deck);

/// The deck name of the interface whose settings these are.
std::string embedding_name(const EmbeddingSettings& settings);

/// The deck name of the interface whose vectors are the rows of a parameter: of the head's matrix
/// where `shares_head`, else of one of its own.
std::string table_interface(bool shares_head);

/// The parameter that holds the rows of the interface of that deck name; "" where they are
/// computed, or no interface has the name.
std::string stored_table(const std::string& name);

/// The interface for a model of that shape. Throws Error(deck) where the two do not go together.
template <class S>
std::unique_ptr<Embedding<S>> make_embedding(const EmbeddingSettings& settings,
                                             const ModelShape& shape);

}  // namespace lexikos

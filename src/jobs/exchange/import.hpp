// job = "import": a Llama in the layout of Hugging Face's transformers becomes a model here.
#pragma once

#include <string>

#include "console/console.hpp"
#include "parallel/communicator.hpp"
#include "train/member_settings.hpp"

namespace lexikos {

/// The deck with the model that import.folder describes: [transformer], embedding.interface (`tied`
/// or `untied`) and data.vocabulary_size as its config.json has them. transformer.context may be
/// less than the folder's; any other of these keys has to agree. Throws Error(deck) where it does
/// not, Error(file) where the model is not supported (read_llama_config).
Deck with_imported_model(const Deck& deck);

/// Writes into the member's folder
///   checkpoint_00000000.h5   the folder's weights, moments zero
///   deck.toml                the deck with which it is evaluated, trained on or exported
/// Weights in F32, F16 or BF16 keep their values. `settings` are those of with_imported_model.
/// Throws Error(file): a tensor that is missing, not expected, of another shape or type; a folder
/// that holds checkpoints. Collective; needs no tokens file.
void import_model(const MemberSettings& settings, const Communicator& comm, Console& console);

}  // namespace lexikos

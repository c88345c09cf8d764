// job = "bake": a trained input interface turned into an ordinary table.
#pragma once

#include <string>

#include "console/console.hpp"
#include "parallel/communicator.hpp"
#include "train/member_settings.hpp"

namespace lexikos {

/// Reads the checkpoint `asked` (a file; "" or "latest": the member's newest), materialises the
/// V x D input table of its interface, and writes into the member's folder
///   baked/checkpoint_<step>.h5   the same model with the interface `untied`, moments zero
///   baked/deck.toml              its deck
/// The two models give the same logits up to rounding, since E depends on the id alone. A dense
/// head is copied as it is. Throws Error(file) or Error(deck); refuses to overwrite. Collective.
void bake(const MemberSettings& settings, const std::string& asked, const Communicator& comm,
          Console& console);

}  // namespace lexikos

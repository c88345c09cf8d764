// job = "evaluate": the held-out loss of a trained model, into evaluation.h5.
#pragma once

#include <string>

#include "console/console.hpp"
#include "jobs/outcome.hpp"
#include "parallel/communicator.hpp"
#include "train/member_settings.hpp"

namespace lexikos {

/// Reads the checkpoint `asked` (a file; "" or "latest": the member's newest), evaluates it on the
/// deck's validation tokens, prints the loss in all and by token frequency, and writes
/// evaluation.h5 into the member's folder. Collective. Throws Error(file) or Error(deck) where the
/// checkpoint or the tokens do not fit the deck.
Outcome evaluate(const MemberSettings& settings, const std::string& asked, const Communicator& comm,
                 Console& console);

}  // namespace lexikos

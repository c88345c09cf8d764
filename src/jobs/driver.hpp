// Runs what the command line asks for: the members of a deck, one after another or side by side.
#pragma once

#include "deck/arguments.hpp"
#include "deck/deck.hpp"
#include "parallel/communicator.hpp"

namespace lexikos {

/// Runs the deck. Collective over `world`; throws the same Error on every rank.
void drive(const Deck& deck, const Arguments& arguments, const Communicator& world);

}  // namespace lexikos

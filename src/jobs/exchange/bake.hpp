// job = "bake": a trained input interface turned into an ordinary table.
#pragma once

#include "jobs/job.hpp"

namespace lexikos {

/// Reads the checkpoint of `-r` (a file; "" or "latest": the member's newest), materialises the
/// V x D input table of its interface, and writes into the member's folder
///   baked/checkpoint_<step>.h5   the same model with the interface `untied`, moments zero
///   baked/deck.toml              its deck
/// The two models give the same logits up to rounding, since E depends on the id only. A dense
/// head is copied as it is. Throws Error(file) or Error(deck); refuses to overwrite.
std::unique_ptr<Job> read_bake(JobDeck& from);

}  // namespace lexikos

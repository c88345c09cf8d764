// job = "sample": what a trained model says after a prompt.
#pragma once

#include "jobs/job.hpp"

namespace lexikos {

/// Reads the checkpoint of `-r` (a file; "" or "latest": the member's newest) and continues the
/// deck's prompt `sample.samples` times, each by `sample.tokens` ids or until the context is full:
/// a text of T ids gets one id more and no further. Prints the ids and writes samples.txt into the
/// member's folder, and logits.h5 where the deck asks for it. An id is a pure function of weights,
/// prompt, seed, sample and place. Throws Error(deck) for a prompt that is empty, longer than T, or
/// has ids >= V; Error(file). Needs no tokens file.
std::unique_ptr<Job> read_sample(JobDeck& from);

/// Checks table [sample] of another job's deck.
void check_sample(const Deck& deck);

}  // namespace lexikos

// job = "export": a trained model as a folder that Hugging Face's transformers loads.
#pragma once

#include "jobs/job.hpp"

namespace lexikos {

/// Reads the checkpoint of `-r` (a file; "" or "latest": the member's newest) and writes
/// exported/ into the member's folder: config.json, model.safetensors (or shards with their index),
/// generation_config.json where the end-of-text id is known, and copies of the tokenizer's files
/// where the deck names them. The model is a LlamaForCausalLM: the input interface becomes a table,
/// and a head that the interface shares is written once. The folder appears whole or not at all.
/// Throws Error(deck) for a model that is no Llama (transformer.mlp = "gelu"), Error(file)
/// otherwise; refuses to overwrite. Needs no tokens file.
std::unique_ptr<Job> read_export(JobDeck& from);

/// Checks table [export] of another job's deck.
void check_export(const Deck& deck);

}  // namespace lexikos

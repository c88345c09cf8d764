// Which checkpoint training goes on from, and whether deck and tokens fit it.
#pragma once

#include <string>

#include "console/console.hpp"
#include "data/open_data.hpp"
#include "outputs/checkpoint.hpp"
#include "parallel/communicator.hpp"

namespace lexikos {

/// Root attribute of a checkpoint: RunData::fingerprint.
inline constexpr const char* fingerprint_attribute = "data_fingerprint";

/// The newest checkpoint of a folder that can be read, "" where there is none; says on the console
/// which broken ones it passed over. Collective.
std::string newest_checkpoint(const std::string& folder, const Communicator& comm,
                              Console& console);

/// To go on training: throws Error(deck), naming the first key that differs, where the deck's seed,
/// batch or mixture would give the steps to come other samples than a straight run reads, unless
/// `allow_changed`; says on the console what was allowed.
void check_data_order(const CheckpointHeader& header, const std::string& path,
                      const std::string& resolved_deck, bool allow_changed, Console& console);

/// To go on training: throws Error(file), naming the first file that differs, where the token files
/// are not those that the checkpoint was trained on, unless `allow_changed`. Says on the console
/// what was allowed, or that an old checkpoint does not tell.
void check_token_files(const CheckpointHeader& header, const std::string& path, const RunData& data,
                       bool allow_changed, Console& console);

}  // namespace lexikos

// What the files of a member say about the run that made them.
#pragma once

#include "data/open_data.hpp"
#include "hdf5/attributes.hpp"
#include "parallel/communicator.hpp"
#include "train/settings.hpp"

namespace lexikos {

/// Root attributes of every file that a job writes: the deck, the code's version, what it computed
/// with.
Attributes provenance(const std::string& resolved_deck, Compute compute = Compute::own);

/// Root attributes of history.h5, evaluation.h5 and embedding.h5 (src/outputs/README.md), without
/// what only one kind of job knows.
Attributes run_attributes(const MemberSettings& settings, const RunData& data,
                          const Model<float>& model, const Communicator& comm);

}  // namespace lexikos

// Times training steps and says what share of the machine's GEMM rate they reach.
#pragma once

#include "console/console.hpp"
#include "data/open_data.hpp"
#include "train/member_settings.hpp"

namespace lexikos {

/// Runs the deck's steps without files; prints the GEMM rate measured in this process, the median
/// step (the first left out) and its share of that rate.
void bench(const MemberSettings& settings, const RunData& data, const Communicator& comm,
           Console& console);

}  // namespace lexikos

// The history of a training run: its groups, in the order of its files.
#pragma once

#include "outputs/history.hpp"

namespace lexikos {

/// "history", "validation", "frequency" and "geometry", without rows.
History run_history();

}  // namespace lexikos

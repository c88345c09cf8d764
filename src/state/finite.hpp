// Parameters that are not finite: a state that no file may give or get.
#pragma once

#include <string>

#include "state/parameters.hpp"
#include "utils/error.hpp"

namespace lexikos {

/// Throws Error(status) where a value is NaN or infinite, or a moment (those in moment_range()):
/// "<start>: 'head.weight' has nan at row 3, column 5; <advice>", the first one in arena order.
/// Arenas that are not allocated are not looked at. Waits for the device.
template <class S>
void require_finite(const Parameters<S>& parameters, Status status, const std::string& start,
                    const std::string& advice);

}  // namespace lexikos

// What job "capacity" prints: at most 80 columns, every number with its definition.
#pragma once

#include <string>
#include <vector>

#include "capacity/analysis.hpp"

namespace lexikos {

/// `pieces` are the tokens' texts, empty where they are not known.
std::string matrix_text(const capacity::MatrixReport& report, const capacity::Law& law,
                        const std::vector<std::string>& pieces);

std::string token_cosine_text(const capacity::TokenCosines& cosines);

/// Time of the pair work against the time that V^2 D operations take at `gemm_rate` (FLOP/s).
std::string speed_text(const capacity::MatrixReport& report, double gemm_rate);

/// The definitions that all of the above refer to; printed once.
std::string capacity_definitions();

}  // namespace lexikos

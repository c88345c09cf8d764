// The tables that `-n` prints: parameters, floating-point work and memory of a model.
#pragma once

#include <string>

#include "driver/model.hpp"

namespace lexikos {

/// Floating-point operations of one token of training, the model's input interface aside
/// (a look-up costs none, and an interface is evaluated once for each distinct token).
template <class S>
double flops_per_token(const Model<S>& model);

/// Parameters, FLOPs and memory, at most 80 columns wide.
template <class S>
std::string model_tables(const Model<S>& model, const std::string& interface, Index batch_bytes);

}  // namespace lexikos

// The tables that `-n` prints: parameters, floating-point work and memory of a model.
#pragma once

#include <string>
#include <vector>

#include "model.hpp"
#include "train/memory_need.hpp"

namespace lexikos {

/// Floating-point operations of one token of training, the model's input interface aside
/// (a look-up costs none, and an interface is evaluated once for each distinct token).
double flops_per_token(const Model<float>& model);

/// Parameters, FLOPs and memory, at most 80 columns wide.
std::string model_tables(const Model<float>& model, const std::string& interface,
                         const MemoryNeed& need);

/// The micro-batches that fit devices of usual sizes, for the table above.
std::string fit_table(const MemberSettings& settings, Index vocabulary, int ranks);

/// What the members of a sweep are compared by.
struct MemberCounts {
  std::string member;
  bool tied = false;  // its input matrix is the head's
  Index trainable = 0;
  Index matrices = 0;  // of these, in parameters of two or more dimensions
};

MemberCounts member_counts(const Model<float>& model, const std::string& member);

/// Each member's counts and how far they are from those of the first tied member, or of the first
/// member where none is tied. At most 80 columns wide.
std::string comparison_table(const std::vector<MemberCounts>& members);

}  // namespace lexikos

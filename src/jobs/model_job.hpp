// What the jobs on one model share: the member's settings, and what `-n` prints of them.
#pragma once

#include <utility>

#include "jobs/job.hpp"
#include "train/settings.hpp"

namespace lexikos {

class ModelJob : public Job {
 public:
  explicit ModelJob(MemberSettings settings) : settings_(std::move(settings)) {}

  /// The resolved deck, and the tables of parameters, work and memory.
  std::optional<MemberCounts> plan(const JobContext& context) const final;

  const std::string& folder() const final { return settings_.directory; }

 protected:
  MemberSettings settings_;
};

/// The tables that every job on a model reads. What the resolved deck shall show of the job's own
/// table has been read before. Throws Error(deck).
MemberSettings read_member(const JobDeck& from);

}  // namespace lexikos

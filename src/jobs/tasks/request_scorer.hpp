// The log-likelihoods of the requests of evaluation tasks.
#pragma once

#include <cstdint>
#include <vector>

#include "data/requests/requests_file.hpp"
#include "model.hpp"
#include "parallel/communicator.hpp"

namespace lexikos {

/// Of each request.
struct RequestScores {
  std::vector<double> log_likelihood;  ///< nats, summed over the ids of its continuation
  std::vector<std::uint8_t> greedy;    ///< 1: each of these ids was the likeliest
  std::vector<std::int64_t> scored;    ///< how many they were; fewer where T holds no more
  Index rows = 0;                      ///< of T positions, over all ranks
  Index positions = 0;                 ///< of them in use
};

/// Scores every request exactly once. The rows follow only from the requests and T; each rank
/// takes its share of them, `micro_batch` of the model's shape at a time. `share`: contexts of a
/// question's choices once. Collective; the same result on every rank. Errors (Status::numerical):
/// a log-likelihood that is not finite.
template <class S>
RequestScores score_requests(const ExecSpace& space, const Requests& requests, bool share,
                             const Communicator& comm, Model<S>& model);

}  // namespace lexikos

#include "jobs/tasks/request_scorer.hpp"

#include <algorithm>
#include <cmath>

#include "data/requests/row_loader.hpp"
#include "utils/error.hpp"

namespace lexikos {
namespace {

/// Results of one batch on the device, and their copy.
struct Found {
  Buffer<double> nll;
  Buffer<std::uint8_t> largest;
  HostBuffer<double> nll_host;
  HostBuffer<std::uint8_t> largest_host;
  explicit Found(Index most)
      : nll("Lexikos::scorer::nll", most),
        largest("Lexikos::scorer::largest", most),
        nll_host("Lexikos::scorer::nll_host", most),
        largest_host("Lexikos::scorer::largest_host", most) {}
};

/// Sums over requests as they travel between ranks: log-likelihood, ids that were not the
/// likeliest, ids that were scored; [requests] each.
struct Sums {
  std::vector<double> values;
  Index count;
  explicit Sums(Index requests) : values(static_cast<std::size_t>(3 * requests)), count(requests) {}
  double& log_likelihood(Index r) { return values[r]; }
  double& not_greedy(Index r) { return values[count + r]; }
  double& scored(Index r) { return values[2 * count + r]; }
};

template <class S>
void add_batch(const ExecSpace& space, const RowBatch& batch, Model<S>& model, Found& found,
               Sums& sums) {
  const auto k = static_cast<Index>(batch.request.size());
  model.score(space, batch.distinct, batch.input,
              {batch.position, batch.target, View1<double>(found.nll.data(), k),
               View1<std::uint8_t>(found.largest.data(), k)});
  space.fence();
  Kokkos::deep_copy(found.nll_host, found.nll);
  Kokkos::deep_copy(found.largest_host, found.largest);
  for (Index i = 0; i < k; ++i) {
    const Index r = batch.request[i];
    sums.log_likelihood(r) -= found.nll_host(i);
    sums.not_greedy(r) += found.largest_host(i) == 0 ? 1 : 0;
    sums.scored(r) += 1;
  }
}

RequestScores scores_from(const Requests& requests, Sums& sums) {
  RequestScores scores;
  for (Index r = 0; r < requests.requests(); ++r) {
    if (!std::isfinite(sums.log_likelihood(r))) {
      fail(Status::numerical, "the log-likelihood of request " + std::to_string(r) + " of '" +
                                  requests.path +
                                  "' is not finite; the checkpoint holds a model "
                                  "that has diverged");
    }
    scores.log_likelihood.push_back(sums.log_likelihood(r));
    scores.greedy.push_back(sums.not_greedy(r) == 0 ? 1 : 0);
    scores.scored.push_back(static_cast<std::int64_t>(sums.scored(r)));
  }
  return scores;
}

}  // namespace

template <class S>
RequestScores score_requests(const ExecSpace& space, const Requests& requests, bool share,
                             const Communicator& comm, Model<S>& model) {
  const Index T = model.shape().context, most = model.shape().micro_batch;
  const std::vector<Bundle> bundles = bundles_of(requests, T, share);
  const std::vector<std::vector<Index>> rows = pack_rows(bundles, T);
  const Share mine = share_of(static_cast<Index>(rows.size()), comm.rank(), comm.size());
  Sums sums(requests.requests());
  comm.on_all([&] {
    RowLoader loader(requests, bundles, rows, T, model.shape().vocabulary, most);
    Found found(most * T);
    for (Index begin = mine.begin; begin < mine.end; begin += most) {
      add_batch(space, loader.load(begin, std::min(most, mine.end - begin)), model, found, sums);
    }
  });
  comm.sum(sums.values);
  RequestScores scores = scores_from(requests, sums);
  scores.rows = static_cast<Index>(rows.size());
  for (const Bundle& bundle : bundles) scores.positions += bundle.positions();
  return scores;
}

template RequestScores score_requests(const ExecSpace&, const Requests&, bool, const Communicator&,
                                      Model<float>&);
template RequestScores score_requests(const ExecSpace&, const Requests&, bool, const Communicator&,
                                      Model<double>&);

}  // namespace lexikos

#include "parallel/slice_gatherer.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "parallel/messages.hpp"
#include "state/parameters.hpp"

namespace lexikos {

template <class S>
SliceGatherer<S>::SliceGatherer(const Communicator& comm, const ParallelSettings& settings,
                                Buffer<S> arena)
    : comm_(comm), path_(message_path(settings)), arena_(std::move(arena)) {
  const Index longest = slice_of(arena_.size(), 0, comm_.size()).size();
  const Index asked = std::min<Index>(settings.bucket_bytes / Index(sizeof(S)), longest);
  bucket_ = std::clamp<Index>(asked, 1, comm_.largest_message());
  rounds_ = (longest + bucket_ - 1) / bucket_;
  if (path_ == MessagePath::staged && comm_.size() > 1) {
    staging_ =
        HostBuffer<S>(without_initializing("Lexikos::slices::staging"), bucket_ * comm_.size());
  }
}

template <class S>
void SliceGatherer<S>::gather(const ExecSpace& space) {
  space.fence();  // the update is complete before MPI reads it
  if (comm_.size() == 1) return;
  for (Index round = 0; round < rounds_; ++round) gather_round(space, round);
}

template <class S>
void SliceGatherer<S>::gather_round(const ExecSpace& space, Index round) {
  const bool staged = path_ == MessagePath::staged;
  std::optional<DirectMessages> direct;
  if (!staged) direct.emplace();
  std::vector<MPI_Request> requests;
  std::vector<ArenaRange> messages;
  for (int owner = 0; owner < comm_.size(); ++owner) {
    const ArenaRange slice = slice_of(arena_.size(), owner, comm_.size());
    const Index begin = std::min(slice.begin + round * bucket_, slice.end);
    const ArenaRange message = {begin, std::min(begin + bucket_, slice.end)};
    messages.push_back(message);
    if (message.size() == 0) continue;
    S* data = arena_.data() + message.begin;
    if (staged) {
      data = host_pointer(staging_) + owner * bucket_;
      if (owner == comm_.rank()) {
        Kokkos::deep_copy(space, stretch<Kokkos::HostSpace>(data, 0, message.size()),
                          stretch<MemSpace>(arena_.data(), message.begin, message.end));
        space.fence();
      }
    }
    MPI_Ibcast(data, static_cast<int>(message.size()), mpi_type<S>(), owner, comm_.handle(),
               &requests.emplace_back());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  if (!staged) return;
  for (int owner = 0; owner < comm_.size(); ++owner) {
    const ArenaRange message = messages[owner];
    if (owner == comm_.rank() || message.size() == 0) continue;
    Kokkos::deep_copy(
        space, stretch<MemSpace>(arena_.data(), message.begin, message.end),
        stretch<Kokkos::HostSpace>(host_pointer(staging_) + owner * bucket_, 0, message.size()));
  }
  space.fence();
}

template class SliceGatherer<float>;
template class SliceGatherer<double>;

}  // namespace lexikos

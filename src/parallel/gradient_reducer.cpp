#include "parallel/gradient_reducer.hpp"

#include <algorithm>

#include "parallel/messages.hpp"

#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace lexikos {

ParallelSettings ParallelSettings::read(const Deck& deck) {
  const DeckTable table = deck.table("parallel");
  ParallelSettings s;
  s.gpu_aware_mpi =
      table.choice({.name = "gpu_aware_mpi", .doc = "whether MPI takes device pointers"}, "auto",
                   {"auto", "on", "off"});
  s.bucket_bytes =
      table.integer({.name = "bucket_bytes", .doc = "largest gradient message", .unit = "bytes"},
                    Index{16} << 20, Between(1 << 10, 1 << 30));
  s.shard_optimizer =
      table.flag({.name = "shard_optimizer",
                  .doc = "each rank keeps and updates its share of AdamW's moments"},
                 false);
  s.plan_ranks = static_cast<int>(table.integer(
      {.name = "plan_ranks", .doc = "ranks that -n plans memory for; 0: those it is started with"},
      0, Between(0, 1 << 20)));
  return s;
}

bool mpi_is_gpu_aware() {
#if defined(KOKKOS_ENABLE_CUDA) && defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support() == 1;
#elif defined(KOKKOS_ENABLE_HIP) && defined(MPIX_ROCM_AWARE_SUPPORT)
  return MPIX_Query_rocm_support() == 1;
#else
  return false;
#endif
}

MessagePath message_path(const ParallelSettings& settings) {
  if (settings.gpu_aware_mpi == "on") return MessagePath::direct;
  if (settings.gpu_aware_mpi == "off") return MessagePath::staged;
  return device_is_host || mpi_is_gpu_aware() ? MessagePath::direct : MessagePath::staged;
}

template <class S>
GradientReducer<S>::GradientReducer(const Communicator& comm, const ParallelSettings& settings,
                                    Buffer<S> gradients)
    : comm_(comm),
      path_(message_path(settings)),
      bucket_(
          std::clamp<Index>(settings.bucket_bytes / Index(sizeof(S)), 1, comm.largest_message())),
      gradients_(std::move(gradients)) {
  if (path_ == MessagePath::staged && comm_.size() > 1) {
    staging_ =
        HostBuffer<S>(without_initializing("Lexikos::gradients::staging"), gradients_.size());
  }
}

template <class S>
GradientReducer<S>::~GradientReducer() {
  if (requests_.empty()) return;
  // An error came in the middle of a step: MPI may still write into these until the job ends.
  (void)new Buffer<S>(gradients_);
  (void)new HostBuffer<S>(staging_);
}

template <class S>
void GradientReducer<S>::start(const ExecSpace& space, Index begin, Index end) {
  if (comm_.size() == 1 || begin == end) return;
  for (Index from = begin; from < end; from += bucket_) {
    start_message(space, from, std::min(from + bucket_, end));
  }
  // Lets MPI work on the messages under way: many libraries move data only inside a call.
  int done = 0;
  MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE);
}

template <class S>
void GradientReducer<S>::start_message(const ExecSpace& space, Index begin, Index end) {
  S* data = gradients_.data();
  if (path_ == MessagePath::direct) {
    if (!direct_) direct_.emplace();
  } else {
    Kokkos::deep_copy(space, stretch<Kokkos::HostSpace>(host_pointer(staging_), begin, end),
                      stretch<MemSpace>(gradients_.data(), begin, end));
    data = host_pointer(staging_);
  }
  space.fence();  // the gradients are complete before MPI reads them
  MPI_Request request;
  MPI_Iallreduce(MPI_IN_PLACE, data + begin, static_cast<int>(end - begin), mpi_type<S>(), MPI_SUM,
                 comm_.handle(), &request);
  requests_.push_back(request);
  messages_.push_back({begin, end});
}

template <class S>
void GradientReducer<S>::finish(const ExecSpace& space) {
  MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  if (path_ == MessagePath::staged) {
    for (const Message& m : messages_) {
      Kokkos::deep_copy(space, stretch<MemSpace>(gradients_.data(), m.begin, m.end),
                        stretch<Kokkos::HostSpace>(host_pointer(staging_), m.begin, m.end));
    }
    space.fence();
  }
  direct_.reset();
  requests_.clear();
  messages_.clear();
}

template class GradientReducer<float>;
template class GradientReducer<double>;

}  // namespace lexikos

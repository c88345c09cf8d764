#include "parallel/slice_reader.hpp"

#include <algorithm>

#include "parallel/messages.hpp"
#include "state/parameters.hpp"

namespace lexikos {
namespace {

constexpr int question_tag = 1, answer_tag = 2;

}  // namespace

template <class S>
SliceReader<S>::SliceReader(const Communicator& comm, std::vector<Buffer<S>> slices,
                            Index arena_size)
    : comm_(comm), slices_(std::move(slices)), arena_size_(arena_size) {}

template <class S>
void SliceReader<S>::copy_own(int arena, Index begin, Index end, S* out) const {
  const Index first = slice_of(arena_size_, comm_.rank(), comm_.size()).begin;
  Kokkos::deep_copy(stretch<Kokkos::HostSpace>(out, 0, end - begin),
                    stretch<MemSpace>(slices_[arena].data(), begin - first, end - first));
}

template <class S>
void SliceReader<S>::ask(int rank, const Question& question) const {
  const std::int64_t numbers[] = {question.arena, question.begin, question.end};
  MPI_Send(numbers, 3, MPI_INT64_T, rank, question_tag, comm_.handle());
}

template <class S>
void SliceReader<S>::read(int arena, Index begin, Index end, S* out) {
  Index done = begin;
  for (int rank = 0; rank < comm_.size() && done < end; ++rank) {
    const Index owned = slice_of(arena_size_, rank, comm_.size()).end;
    while (done < std::min(owned, end)) {
      const Index until = std::min({owned, end, done + comm_.largest_message()});
      if (rank == comm_.rank()) {
        copy_own(arena, done, until, out + (done - begin));
      } else {
        ask(rank, {arena, done, until});
        MPI_Recv(out + (done - begin), static_cast<int>(until - done), mpi_type<S>(), rank,
                 answer_tag, comm_.handle(), MPI_STATUS_IGNORE);
      }
      done = until;
    }
  }
}

template <class S>
void SliceReader<S>::close() {
  for (int rank = 1; rank < comm_.size(); ++rank) ask(rank, {-1, 0, 0});
}

template <class S>
void SliceReader<S>::answer() {
  HostBuffer<S> piece;
  for (;;) {
    std::int64_t numbers[3];
    MPI_Recv(numbers, 3, MPI_INT64_T, 0, question_tag, comm_.handle(), MPI_STATUS_IGNORE);
    if (numbers[0] < 0) return;
    const Index size = numbers[2] - numbers[1];
    if (static_cast<Index>(piece.size()) < size) {
      piece = HostBuffer<S>();  // not both at once
      piece = HostBuffer<S>(without_initializing("Lexikos::slices::answer"), size);
    }
    copy_own(static_cast<int>(numbers[0]), numbers[1], numbers[2], host_pointer(piece));
    MPI_Send(host_pointer(piece), static_cast<int>(size), mpi_type<S>(), 0, answer_tag,
             comm_.handle());
  }
}

template class SliceReader<float>;
template class SliceReader<double>;

}  // namespace lexikos

#include "parallel/communicator.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <new>
#include <thread>
#include <utility>

namespace lexikos {

namespace {

/// How long a rank that failed waits for the others before it takes them to be stuck.
constexpr std::chrono::seconds patience{5};

/// True once the request is complete, false where patience ends first.
bool completes(MPI_Request& request) {
  const auto end = std::chrono::steady_clock::now() + patience;
  int done = 0;
  while (done == 0 && std::chrono::steady_clock::now() < end) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return done != 0;
}

}  // namespace

Communicator::Communicator(MPI_Comm comm, std::int64_t largest_message)
    : comm_(comm), largest_message_(std::clamp<std::int64_t>(largest_message, 1, most_elements)) {
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
  if (size_ > 1) MPI_Comm_dup(comm_, &agreement_);
}

Communicator::~Communicator() {
  // Freeing is collective: after an error of this rank only it might wait for ever.
  if (std::uncaught_exceptions() > 0) return;
  if (agreement_ != MPI_COMM_NULL) MPI_Comm_free(&agreement_);
  if (owned_) MPI_Comm_free(&comm_);
}

Communicator::Communicator(Communicator&& other) noexcept
    : comm_(other.comm_),
      agreement_(std::exchange(other.agreement_, MPI_COMM_NULL)),
      largest_message_(other.largest_message_),
      owned_(std::exchange(other.owned_, false)),
      rank_(other.rank_),
      size_(other.size_) {}

Communicator Communicator::split(int colour) const {
  MPI_Comm part;
  MPI_Comm_split(comm_, colour, rank_, &part);
  Communicator group(part, largest_message_);
  group.owned_ = true;
  return group;
}

/// work(begin, count) for each piece of [0, count) that fits one message.
template <class Work>
void Communicator::in_pieces(std::int64_t count, const Work& work) const {
  for (std::int64_t begin = 0; begin < count; begin += largest_message_) {
    work(begin, static_cast<int>(std::min(largest_message_, count - begin)));
  }
}

void Communicator::sum(std::vector<double>& values) const {
  sum(values.data(), static_cast<std::int64_t>(values.size()));
}

void Communicator::sum(double* values, std::int64_t count) const {
  if (size_ == 1) return;
  in_pieces(count, [&](std::int64_t begin, int part) {
    MPI_Allreduce(MPI_IN_PLACE, values + begin, part, MPI_DOUBLE, MPI_SUM, comm_);
  });
}

double Communicator::sum(double value) const {
  sum(&value, 1);
  return value;
}

void Communicator::max(std::vector<double>& values) const {
  if (size_ == 1) return;
  in_pieces(static_cast<std::int64_t>(values.size()), [&](std::int64_t begin, int part) {
    MPI_Allreduce(MPI_IN_PLACE, values.data() + begin, part, MPI_DOUBLE, MPI_MAX, comm_);
  });
}

double Communicator::max(double value) const {
  std::vector<double> one{value};
  max(one);
  return one[0];
}

std::string Communicator::broadcast(const std::string& text) const {
  auto length = static_cast<std::int64_t>(text.size());
  MPI_Bcast(&length, 1, MPI_INT64_T, 0, comm_);
  std::string copy = is_root() ? text : std::string(static_cast<std::size_t>(length), '\0');
  in_pieces(length, [&](std::int64_t begin, int part) {
    MPI_Bcast(copy.data() + begin, part, MPI_CHAR, 0, comm_);
  });
  return copy;
}

std::vector<std::string> Communicator::gather(const std::string& text) const {
  if (!is_root()) {
    const auto length = static_cast<std::int64_t>(text.size());
    MPI_Send(&length, 1, MPI_INT64_T, 0, 0, comm_);
    in_pieces(length, [&](std::int64_t begin, int part) {
      MPI_Send(text.data() + begin, part, MPI_CHAR, 0, 0, comm_);
    });
    return {};
  }
  std::vector<std::string> all{text};
  for (int rank = 1; rank < size_; ++rank) {
    std::int64_t length = 0;
    MPI_Recv(&length, 1, MPI_INT64_T, rank, 0, comm_, MPI_STATUS_IGNORE);
    std::string& theirs = all.emplace_back(static_cast<std::size_t>(length), '\0');
    in_pieces(length, [&](std::int64_t begin, int part) {
      MPI_Recv(theirs.data() + begin, part, MPI_CHAR, rank, 0, comm_, MPI_STATUS_IGNORE);
    });
  }
  return all;
}

void Communicator::on_root(const std::function<void()>& work) const {
  std::exception_ptr failure;
  if (is_root()) {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  }
  agree(failure);
}

void Communicator::on_all(const std::function<void()>& work) const {
  std::exception_ptr failure;
  try {
    work();
  } catch (...) {
    failure = std::current_exception();
  }
  agree(failure);
}

namespace {

/// Any exception as the project's own, so that it can travel.
Error as_error(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error;
  } catch (const std::filesystem::filesystem_error& error) {
    return Error(Status::file, "cannot use '" + error.path1().string() +
                                   "': " + error.code().message() + "; check the path");
  } catch (const std::bad_alloc&) {
    return Error(Status::resource, "out of host memory; use more ranks or a smaller micro-batch");
  } catch (const std::exception& error) {
    return Error(Status::resource, error.what());
  } catch (...) {
    return Error(Status::resource, "an exception of a library that does not say what it is");
  }
}

}  // namespace

void Communicator::agree(const std::exception_ptr& failure) const {
  std::optional<Error> error;
  bool speaks = true;
  if (failure) {
    error = as_error(failure);
    try {
      std::rethrow_exception(failure);
    } catch (const RankError& from_within) {
      if (from_within.alone()) throw;
      speaks = from_within.speaks();
    } catch (...) {
    }
  }
  if (size_ == 1) {
    if (error) throw RankError(*error, true, false);
    return;
  }
  // On the heap: where nobody answers, the message is still under way when this returns.
  auto first = std::make_unique<int>(error ? rank_ : size_);
  MPI_Request request;
  MPI_Iallreduce(MPI_IN_PLACE, first.get(), 1, MPI_INT, MPI_MIN, agreement_, &request);
  if (!error) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (!completes(request)) {
    (void)first.release();
    throw RankError(*error, speaks, true);
  }
  if (*first == size_) return;
  throw RankError(share(error, *first), rank_ == *first, false);
}

Error Communicator::share(const std::optional<Error>& error, int owner) const {
  std::string message = rank_ == owner ? error->what() : "";
  int status = rank_ == owner ? static_cast<int>(error->status()) : 0;
  int length = static_cast<int>(message.size());
  MPI_Bcast(&status, 1, MPI_INT, owner, agreement_);
  MPI_Bcast(&length, 1, MPI_INT, owner, agreement_);
  message.resize(length);
  MPI_Bcast(message.data(), length, MPI_CHAR, owner, agreement_);
  return {static_cast<Status>(status), message};
}

}  // namespace lexikos

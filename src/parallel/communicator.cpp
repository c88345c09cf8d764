#include "parallel/communicator.hpp"

#include <algorithm>
#include <new>

namespace lexikos {

Communicator::Communicator(MPI_Comm comm) : comm_(comm) {
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
}

Communicator::~Communicator() {
  if (owned_) MPI_Comm_free(&comm_);
}

Communicator::Communicator(Communicator&& other) noexcept
    : comm_(other.comm_), owned_(other.owned_), rank_(other.rank_), size_(other.size_) {
  other.owned_ = false;
}

Communicator Communicator::split(int colour) const {
  MPI_Comm part;
  MPI_Comm_split(comm_, colour, rank_, &part);
  Communicator group(part);
  group.owned_ = true;
  return group;
}

void Communicator::sum(std::vector<double>& values) const {
  sum(values.data(), static_cast<std::int64_t>(values.size()));
}

void Communicator::sum(double* values, std::int64_t count) const {
  if (size_ == 1) return;
  constexpr std::int64_t most = std::int64_t{1} << 26;  // MPI counts in int
  for (std::int64_t begin = 0; begin < count; begin += most) {
    MPI_Allreduce(MPI_IN_PLACE, values + begin, static_cast<int>(std::min(most, count - begin)),
                  MPI_DOUBLE, MPI_SUM, comm_);
  }
}

double Communicator::sum(double value) const {
  std::vector<double> one{value};
  sum(one);
  return one[0];
}

double Communicator::max(double value) const {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, comm_);
  return value;
}

std::string Communicator::broadcast(const std::string& text) const {
  int length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, comm_);
  std::string copy = is_root() ? text : std::string(length, '\0');
  MPI_Bcast(copy.data(), length, MPI_CHAR, 0, comm_);
  return copy;
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
  } catch (const std::bad_alloc&) {
    return Error(Status::resource, "out of host memory; use more ranks or a smaller micro-batch");
  } catch (const std::exception& error) {
    return Error(Status::resource, error.what());
  }
}

}  // namespace

void Communicator::agree(const std::exception_ptr& failure) const {
  int first = failure ? rank_ : size_;
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm_);
  if (first == size_) return;
  std::string message;
  int status = 0, length = 0;
  if (rank_ == first) {
    const Error error = as_error(failure);
    message = error.what();
    status = static_cast<int>(error.status());
    length = static_cast<int>(message.size());
  }
  MPI_Bcast(&status, 1, MPI_INT, first, comm_);
  MPI_Bcast(&length, 1, MPI_INT, first, comm_);
  message.resize(length);
  MPI_Bcast(message.data(), length, MPI_CHAR, first, comm_);
  throw Error(static_cast<Status>(status), message);
}

}  // namespace lexikos

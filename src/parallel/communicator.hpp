// MPI as the code uses it: a group of ranks that share one model's training.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "utils/error.hpp"

namespace lexikos {

class Communicator {
 public:
  /// Does not own the communicator unless it came from split().
  explicit Communicator(MPI_Comm comm);
  ~Communicator();
  Communicator(Communicator&& other) noexcept;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_root() const { return rank_ == 0; }
  MPI_Comm handle() const { return comm_; }

  /// The ranks with the same colour, as a group of their own; ranks keep their order.
  Communicator split(int colour) const;

  /// Sums over ranks, element by element, in place; every rank gets the same bits.
  void sum(std::vector<double>& values) const;
  void sum(double* values, std::int64_t count) const;
  double sum(double value) const;
  double max(double value) const;

  /// Root's text on every rank.
  std::string broadcast(const std::string& text) const;

  void barrier() const { MPI_Barrier(comm_); }

  /// Runs `work` on the root alone. What it throws is thrown on every rank, so that all of them
  /// leave by the same way: no rank waits for one that has given up.
  void on_root(const std::function<void()>& work) const;

  /// Runs `work` on every rank; if any rank fails, all throw the error of the lowest such rank.
  void on_all(const std::function<void()>& work) const;

 private:
  void agree(const std::exception_ptr& failure) const;

  MPI_Comm comm_;
  bool owned_ = false;
  int rank_ = 0, size_ = 1;
};

}  // namespace lexikos

// MPI as the code uses it: a group of ranks that share one model's training.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "utils/error.hpp"

namespace lexikos {

/// An Error on its way through several ranks.
class RankError : public Error {
 public:
  RankError(const Error& error, bool speaks, bool alone)
      : Error(error), speaks_(speaks), alone_(alone) {}

  /// True on one of the ranks that have this error: the one that prints it.
  bool speaks() const { return speaks_; }
  /// True where other ranks did not fail, and may be waiting for this one in a collective call:
  /// nothing but ending the job helps them (run_job does).
  bool alone() const { return alone_; }

 private:
  bool speaks_, alone_;
};

class Communicator {
 public:
  /// Elements of a message at most: MPI counts in int.
  static constexpr std::int64_t most_elements = std::int64_t{1} << 30;

  /// Does not own the communicator unless it came from split(). Collective. Longer messages than
  /// `largest_message` elements are cut.
  explicit Communicator(MPI_Comm comm, std::int64_t largest_message = most_elements);
  ~Communicator();
  Communicator(Communicator&& other) noexcept;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_root() const { return rank_ == 0; }
  MPI_Comm handle() const { return comm_; }
  std::int64_t largest_message() const { return largest_message_; }

  /// The ranks with the same colour, as a group of their own; ranks keep their order.
  Communicator split(int colour) const;

  /// Sums over ranks, element by element, in place; every rank gets the same bits.
  void sum(std::vector<double>& values) const;
  void sum(double* values, std::int64_t count) const;
  double sum(double value) const;
  /// The largest over ranks, element by element, in place.
  void max(std::vector<double>& values) const;
  double max(double value) const;

  /// Root's text on every rank.
  std::string broadcast(const std::string& text) const;

  /// On the root every rank's text, in rank order; elsewhere nothing.
  std::vector<std::string> gather(const std::string& text) const;

  void barrier() const { MPI_Barrier(comm_); }

  /// Runs `work` on the root only. What it throws is thrown on every rank (as RankError), so that
  /// all of them leave by the same way: no rank waits for one that has given up.
  void on_root(const std::function<void()>& work) const;

  /// Runs `work` on every rank; if any rank fails, all throw the error of the lowest such rank. A
  /// rank that fails while others stay away for some seconds (they may wait for it inside `work`)
  /// throws its error as RankError::alone.
  void on_all(const std::function<void()>& work) const;

 private:
  template <class Work>
  void in_pieces(std::int64_t count, const Work& work) const;
  void agree(const std::exception_ptr& failure) const;
  Error share(const std::optional<Error>& error, int owner) const;

  MPI_Comm comm_;
  MPI_Comm agreement_ = MPI_COMM_NULL;  // of agree() only, so that it matches no other message
  std::int64_t largest_message_;
  bool owned_ = false;
  int rank_ = 0, size_ = 1;
};

}  // namespace lexikos

// The contract of a job: what the deck's key `job` chooses. registry.cpp has the one list.
#pragma once

#include <cmath>
#include <memory>
#include <optional>
#include <string>

#include "console/console.hpp"
#include "deck/arguments.hpp"
#include "deck/deck.hpp"
#include "parallel/communicator.hpp"
#include "train/plan.hpp"

namespace lexikos {

/// How a job ended.
struct Outcome {
  bool finished = true;     ///< false: the wall limit or a signal came first
  bool summarised = false;  ///< whether the numbers below make a row of the summary
  double loss = NAN;        ///< nats per token, over `targets` validation targets
  Index targets = 0;
  double tokens_per_second = NAN;
  Index parameters_trainable = 0;
};

/// What a job is given beside its deck.
struct JobContext {
  const Arguments& arguments;
  const Communicator& comm;  ///< the ranks that run this job together
  Console& console;
  const Clock& since_start;  ///< of the process: what the wall limit counts
};

/// One job for one deck, or for one member of a sweep. plan and run are collective over the
/// context's communicator, and throw the same Error on every rank.
class Job {
 public:
  virtual ~Job() = default;

  /// Prints what `-n` shows, and runs nothing; returns what the members of a sweep are compared by
  /// where the job has a model.
  virtual std::optional<MemberCounts> plan(const JobContext& context) const = 0;

  virtual Outcome run(const JobContext& context) = 0;

  /// Where it writes its files.
  virtual const std::string& folder() const = 0;

  /// Throws Error where run() could not go on from the checkpoint that the command line names. The
  /// members of a sweep are all asked before the first one starts.
  virtual void check_restart(const Arguments&) const {}
};

/// What a job reads itself from.
struct JobDeck {
  Deck deck;           ///< of one member
  std::string member;  ///< "" where there is no sweep
  std::string outdir;  ///< of the command line; "": the deck's output.directory
};

/// A row of the registry.
struct JobEntry {
  const char* name;      ///< as the deck says it; also of its own table, where it has one
  const char* sentence;  ///< what it does
  bool model;            ///< whether it reads the tables of a model and its training
  bool sweeps;           ///< whether [sweep] makes members of it
  bool stops;            ///< whether it asks for stop signals between steps and ends cleanly
  const char* lock;      ///< file in its folder that keeps a second one out; null: writes nothing

  /// Reads the tables that this job uses and no others; may complete the deck first, as `import`
  /// does. Throws Error(deck).
  std::unique_ptr<Job> (*read)(JobDeck& from);

  /// Checks the job's own table in the deck of another job; null where it has none. Throws
  /// Error(deck).
  void (*check)(const Deck& deck);
};

}  // namespace lexikos

// What happens between the steps of a training run, in which order, and what ends it.
#include <filesystem>
#include <fstream>

#include "harness/catch.hpp"
#include "harness/file_fixtures.hpp"
#include "train/trainer.hpp"

using namespace lexikos;
using namespace fixtures;

namespace {

const char* const deck =
    "[data]\nsource = \"synthetic\"\nvocabulary_size = 11\n[run]\nsteps = 4\n"
    "[transformer]\nlayers = 1\nwidth = 8\nheads = 1\ncontext = 4\n[batch]\ntokens = 8\n"
    "[validation]\ntokens = 8\n";

struct Found {
  std::string acts;  // "a2": a after two steps
  Index done = 0;
  Index rows = 0;  // of the history
};

/// Trains with three entries: a has its turn before the first step too, b after the last one too, c
/// also where the run stops.
Found train(const std::string& folder, std::optional<double> wall_limit) {
  const Communicator comm(MPI_COMM_WORLD);
  const auto settings = MemberSettings::read(Deck::from_string(deck, "test.toml"), "", "unused");
  const RunData data = open_data(settings.data, settings.seed, comm);
  Trainer trainer(settings, data, comm);
  Console silent(false);
  const Clock clock;
  Stop stop(comm, folder, clock, wall_limit);
  Found found;
  const auto note = [&](const char* who) {
    return [&found, who](Index step) { found.acts += who + std::to_string(step) + " "; };
  };
  Periodic a = {.every = 2, .act = note("a"), .before_first = true};
  Periodic b = {.every = 2, .act = note("b"), .after_last = true};
  Periodic c = {.every = 3, .act = note("c"), .before_stop = true};
  trainer.train(
      {&a, &b, &c}, [&] { note("output")(trainer.done()); }, stop,
      StepLines(silent, settings.run.steps, 20, 1, 1));
  found.done = trainer.done();
  found.rows = trainer.history().rows("history");
  return found;
}

}  // namespace

TEST_CASE("entries have their turn between steps, in the order of their list") {
  const TemporaryFolder folder;
  const Found found = train(folder.path(), {});
  CHECK(found.acts == "a0 a2 b2 c3 b4 ");
  CHECK(found.done == 4);
  CHECK(found.rows == 4);
}

TEST_CASE("a run that has no time left stops after its step, with what belongs to a stop") {
  const TemporaryFolder folder;
  const Found found = train(folder.path(), 0.0);
  CHECK(found.acts == "a0 c1 ");
  CHECK(found.done == 1);
}

TEST_CASE("an entry acts once after a step") {
  int acts = 0;
  Periodic p = {.every = 2, .act = [&](Index) { ++acts; }};
  CHECK(p.run(2));
  CHECK_FALSE(p.run(2));
  CHECK(p.run(3));
  CHECK(acts == 2);
  CHECK(p.due(4));
  CHECK_FALSE(p.due(5));
  CHECK_FALSE(Periodic{}.due(0));
}

TEST_CASE("a file asks for output, which is reported to it") {
  const TemporaryFolder folder;
  const Communicator comm(MPI_COMM_WORLD);
  const Clock clock;
  Stop stop(comm, folder.path(), clock, {});
  const std::string file = folder.file("output_now");
  std::ofstream(file) << "";
  stop.ask(0);
  CHECK_FALSE(stop.wants_output());  // it looks once a second
  while (clock.seconds() < 1.1) {
  }
  stop.ask(0);
  CHECK(stop.wants_output());
  CHECK_FALSE(stop.stops());
  stop.output_is_there();
  CHECK_FALSE(std::filesystem::exists(file));
}

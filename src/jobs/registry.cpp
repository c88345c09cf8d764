#include "jobs/registry.hpp"

#include <vector>

#include "deck/sweep.hpp"
#include "jobs/bench/bench.hpp"
#include "jobs/capacity/capacity.hpp"
#include "jobs/evaluate/evaluate.hpp"
#include "jobs/exchange/bake.hpp"
#include "jobs/exchange/export.hpp"
#include "jobs/exchange/import.hpp"
#include "jobs/packing/packing.hpp"
#include "jobs/sample/sample.hpp"
#include "jobs/tasks/tasks.hpp"
#include "jobs/train/train.hpp"
#include "train/settings.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

constexpr bool model = true, sweeps = true, stops = true, no = false;
/// Jobs that make what a run goes on from keep each other out; those that only measure do not
/// disturb a run, only one another.
constexpr const char* run_lock = "run.lock";

/// The one list of jobs; the first is what a deck without `job` means.
constexpr JobEntry entries[] = {
    {"train", "train a model", model, sweeps, stops, run_lock, read_train, nullptr},
    {"evaluate", "evaluate a checkpoint", model, sweeps, no, "evaluate.lock", read_evaluate,
     nullptr},
    {"tasks", "score evaluation tasks with it", model, sweeps, no, "tasks.lock", read_tasks,
     check_tasks},
    {"bake", "bake its input interface into a table", model, sweeps, no, "bake.lock", read_bake,
     nullptr},
    {"export", "export it for transformers", model, sweeps, no, "export.lock", read_export,
     check_export},
    {"import", "import a Llama from there", model, no, no, run_lock, read_import, check_import},
    {"sample", "continue a prompt", model, sweeps, no, "sample.lock", read_sample, check_sample},
    {"bench", "time a step", model, sweeps, no, nullptr, read_bench, nullptr},
    {"capacity", "measure embedding matrices", no, no, no, "capacity.lock", read_capacity,
     check_capacity},
    {"packing", "pack vectors", no, no, stops, "packing.lock", read_packing, check_packing},
};

std::string sentences() {
  std::vector<std::string> all;
  for (const JobEntry& entry : entries) all.emplace_back(entry.sentence);
  all.back() = "or " + all.back();
  return join(all, ", ");
}

/// The tables of a model in the deck of a job that has none: `-i deck.toml job=capacity`.
void check_model_tables(const Deck& deck) {
  const Deck::Idle unused(deck);
  MemberSettings::read(deck, "", "");
}

void check_tables_of_others(const JobEntry& chosen, const Deck& deck) {
  for (const JobEntry& entry : entries) {
    if (&entry != &chosen && entry.check != nullptr) entry.check(deck);
  }
}

}  // namespace

const JobEntry& read_job(const Deck& deck) {
  std::vector<std::string> names;
  for (const JobEntry& entry : entries) names.emplace_back(entry.name);
  const std::string name =
      deck.table("").choice({.name = "job", .doc = sentences()}, names.front(), names);
  for (const JobEntry& entry : entries) {
    if (name == entry.name) return entry;
  }
  return entries[0];  // not reached: choice() returns one of the names
}

std::unique_ptr<Job> make_job(const JobEntry& entry, JobDeck from) {
  read_job(from.deck);  // so that the resolved deck names it
  std::unique_ptr<Job> job = entry.read(from);
  if (!entry.model) check_model_tables(from.deck);
  check_tables_of_others(entry, from.deck);
  from.deck.check_all_read();
  return job;
}

std::string key_reference() {
  const Deck blank = Deck::blank();
  expand_sweep(blank);
  JobDeck from{blank, "", ""};
  const JobEntry& entry = read_job(from.deck);
  entry.read(from);
  check_tables_of_others(entry, from.deck);
  return key_reference_markdown(from.deck.keys());
}

}  // namespace lexikos

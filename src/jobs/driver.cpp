#include "jobs/driver.hpp"

#include <cmath>
#include <cstdio>

#include "console/configuration.hpp"
#include "deck/sweep.hpp"
#include "jobs/bench/bench.hpp"
#include "jobs/capacity/capacity.hpp"
#include "jobs/evaluate/evaluate.hpp"
#include "jobs/exchange/bake.hpp"
#include "jobs/exchange/export.hpp"
#include "jobs/exchange/import.hpp"
#include "jobs/packing/packing.hpp"
#include "jobs/sample/sample.hpp"
#include "jobs/tasks/score_tasks.hpp"
#include "jobs/train/train.hpp"
#include "train/checkpoint_use.hpp"
#include "train/member_files.hpp"
#include "train/stop_signal.hpp"
#include "train/tables.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

/// What the summary says of a member; travels between ranks as numbers.
struct MemberResult {
  bool ran = false;
  Outcome outcome;
};

MemberCounts dry_run(const MemberSettings& settings, const Communicator& world, Console& console) {
  const Index vocabulary = read_vocabulary(settings.run);
  const int asked = settings.parallel.plan_ranks, ranks = asked > 0 ? asked : world.size();
  const ModelSizes sizes = settings.sizes(vocabulary, ranks);
  const Model<float> model(settings.model, sizes);
  console.line("# resolved deck" +
               (settings.member.empty() ? "" : " of member " + settings.member));
  console.line(settings.resolved_deck);
  console.line(
      model_tables(model, settings.model.interface, memory_need(settings, model, sizes, ranks)) +
      fit_table(settings, vocabulary, ranks));
  return member_counts(model, settings.member, settings.model.interface);
}

/// Each group's root knows its members' results; after this every rank knows all.
void share_results(std::vector<MemberResult>& results, const Communicator& world, bool group_root) {
  std::vector<double> numbers;
  for (const MemberResult& r : results) {
    const bool mine = r.ran && group_root;
    for (const double x : {double(r.ran), double(r.outcome.finished), r.outcome.validation_loss,
                           double(r.outcome.validation_targets), r.outcome.tokens_per_second,
                           double(r.outcome.parameters_trainable)}) {
      numbers.push_back(mine ? x : 0.0);
    }
  }
  world.sum(numbers);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const double* n = &numbers[6 * i];
    results[i].ran = n[0] > 0;
    results[i].outcome = {n[1] > 0, n[2], static_cast<Index>(n[3]), n[4], static_cast<Index>(n[5])};
  }
}

void print_summary(const SweepPlan& plan, const std::vector<MemberResult>& results,
                   const std::string& directory, Console& console) {
  console.line("");
  console.line("member              nats/token  perplexity   parameters   tokens/s  state");
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Outcome& o = results[i].outcome;
    const std::string name = plan.members[i].name.empty() ? "(one)" : plan.members[i].name;
    char text[160];
    std::snprintf(text, sizeof text, "%-18s %11.4f %11.2f %12s %10.0f  %s", name.c_str(),
                  o.validation_loss, std::exp(o.validation_loss),
                  format_count(o.parameters_trainable).c_str(), o.tokens_per_second,
                  !results[i].ran ? "not run"
                  : o.finished    ? "finished"
                                  : "to be continued");
    console.line(text);
  }
  console.line("nats/token: mean negative log-likelihood over " +
               format_count(results.front().outcome.validation_targets) + " validation targets;");
  console.line("perplexity: its exponential, per token. Files in " + directory);
}

/// Members side by side: group g of the ranks takes members g, g + groups, ...
void run_members(const SweepPlan& plan, const std::vector<MemberSettings>& settings,
                 const Arguments& arguments, const Communicator& world) {
  const Clock clock;
  std::optional<double> limit;
  if (arguments.wall_limit) limit = static_cast<double>(*arguments.wall_limit);
  const int groups = std::min<int>(plan.concurrent, static_cast<int>(settings.size()));
  if (groups > world.size()) {
    fail(Status::deck, "sweep.concurrent = " + std::to_string(groups) + " needs as many ranks; " +
                           std::to_string(world.size()) + " are there");
  }
  const int group = world.rank() * groups / world.size();
  const Communicator comm = world.split(group);
  std::vector<MemberResult> results(settings.size());
  // A group agrees on its error first; the other groups may be far from any end.
  const auto all_members = [&] {
    for (std::size_t i = group; i < settings.size(); i += groups) {
      Console console(comm.is_root(), groups > 1 ? settings[i].member + ": " : "");
      const std::string& job = settings[i].run.job;
      if (job == "bench") {
        bench(settings[i], open_data(settings[i].run, comm), comm, console);
      } else if (job == "bake") {
        bake(settings[i], arguments.restart, comm, console);
      } else if (job == "export") {
        export_model(settings[i], arguments.restart, comm, console);
      } else if (job == "import") {
        import_model(settings[i], comm, console);
      } else if (job == "sample") {
        sample(settings[i], arguments.restart, comm, console);
      } else if (job == "evaluate" && !settings[i].run.requests_file.empty()) {
        results[i] = {true, score_tasks(settings[i], arguments.restart, comm, console)};
      } else if (job == "evaluate") {
        results[i] = {true, evaluate(settings[i], arguments.restart, comm, console)};
      } else {
        results[i] = {true, train(settings[i], arguments.restart, clock, limit, comm, console)};
        if (!results[i].outcome.finished) break;
      }
    }
  };
  world.on_all([&] { comm.on_all(all_members); });
  const RunSettings& run = settings.front().run;
  const bool losses = run.job == "train" || (run.job == "evaluate" && run.requests_file.empty());
  if (!losses || (run.job == "evaluate" && results.size() == 1)) return;
  share_results(results, world, comm.is_root());
  Console console(world.is_root());
  print_summary(plan, results,
                arguments.outdir.empty() ? settings.front().run.directory : arguments.outdir,
                console);
}

}  // namespace

std::string key_reference() {
  const Deck blank = Deck::blank();
  expand_sweep(blank);
  MemberSettings::read(blank, "", "");
  CapacitySettings::read(blank, "");
  PackingSettings::read(blank, "");
  return key_reference_markdown(blank.keys());
}

void drive(const Deck& given, const Arguments& arguments, const Communicator& world) {
  const std::string job = read_job(given);
  const Deck deck = job == "import" ? with_imported_model(given) : given;
  if (arguments.dry_run || (job != "train" && job != "packing")) release_stop_signals();
  if (job == "capacity") {
    run_capacity(CapacitySettings::read(deck, arguments.outdir), arguments.dry_run, world);
    return;
  }
  if (job == "packing") {
    run_packing(PackingSettings::read(deck, arguments.outdir), arguments, world);
    return;
  }
  const SweepPlan plan = expand_sweep(deck);
  // All decks are read before the first member starts: a slip in the last must not cost a day.
  std::vector<MemberSettings> settings;
  for (const SweepMember& member : plan.members) {
    settings.push_back(MemberSettings::read(member.deck, member.name, arguments.outdir));
  }
  if (arguments.dry_run) {
    Console console(world.is_root());
    std::vector<MemberCounts> counts;
    for (const auto& s : settings) counts.push_back(dry_run(s, world, console));
    if (counts.size() > 1) console.line(comparison_table(counts));
    return;
  }
  run_members(plan, settings, arguments, world);
}

}  // namespace lexikos

#include "jobs/driver.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "deck/sweep.hpp"
#include "jobs/registry.hpp"
#include "train/stop_signal.hpp"
#include "utils/folder_lock.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

struct Member {
  std::string name;  // "" where there is no sweep
  std::unique_ptr<Job> job;
  bool ran = false;
  Outcome outcome;
};

/// Each group's root knows its members' outcomes; after this every rank knows all.
void share_outcomes(std::vector<Member>& members, const Communicator& world, bool group_root) {
  std::vector<double> numbers;
  for (const Member& m : members) {
    const Outcome& o = m.outcome;
    for (const double x :
         {double(m.ran), double(o.finished), double(o.summarised), o.loss, double(o.targets),
          o.tokens_per_second, double(o.parameters_trainable)}) {
      numbers.push_back(m.ran && group_root ? x : 0.0);
    }
  }
  world.sum(numbers);
  const double* n = numbers.data();
  for (Member& m : members) {
    m.ran = n[0] > 0;
    if (m.ran) {
      m.outcome = {
          n[1] > 0, n[2] > 0, n[3], static_cast<Index>(n[4]), n[5], static_cast<Index>(n[6])};
    }
    n += 7;
  }
}

/// The targets behind the losses; 0 where no member has one.
Index targets_of(const std::vector<Member>& members) {
  for (const Member& m : members) {
    if (std::isfinite(m.outcome.loss)) return m.outcome.targets;
  }
  return 0;
}

void print_summary(const std::vector<Member>& members, const std::string& directory,
                   Console& console) {
  console.line("");
  console.line("member              nats/token  perplexity   parameters   tokens/s  state");
  for (const Member& m : members) {
    const Outcome& o = m.outcome;
    char text[160];
    std::snprintf(text, sizeof text, "%-18s %11s %11s %12s %10s  %s",
                  m.name.empty() ? "(one)" : m.name.c_str(), format_fixed(o.loss, 4).c_str(),
                  perplexity_text(o.loss, 2).c_str(),
                  m.ran ? format_count(o.parameters_trainable).c_str() : "-",
                  format_fixed(o.tokens_per_second, 0).c_str(),
                  !m.ran       ? "not run"
                  : o.finished ? "finished"
                               : "to be continued");
    console.line(text);
  }
  const Index targets = targets_of(members);
  console.line("nats/token: mean negative log-likelihood over " +
               (targets > 0 ? format_count(targets) + " validation targets;"
                            : std::string("validation targets; -: not measured;")));
  console.line("perplexity: its exponential, per token. Files in " + directory);
}

void plan(const std::vector<Member>& members, const Arguments& arguments,
          const Communicator& world) {
  const Clock clock;
  Console console(world.is_root());
  std::vector<MemberCounts> counts;
  for (const Member& m : members) {
    const auto found = m.job->plan({arguments, world, console, clock});
    if (found) counts.push_back(*found);
  }
  if (counts.size() > 1) console.line(comparison_table(counts));
}

/// One member, the only process that writes its kind of files into its folder.
Outcome run_alone(Job& job, const JobEntry& entry, const JobContext& context) {
  std::optional<FolderLock> lock;
  if (entry.lock != nullptr) {
    context.comm.on_root([&] {
      lock.emplace(job.folder(), entry.lock,
                   [&](const std::string& text) { context.console.line(text); });
    });
  }
  return job.run(context);
}

/// Members side by side: group g of the ranks takes members g, g + groups, ...
void run(std::vector<Member>& members, const JobEntry& entry, int concurrent,
         const Arguments& arguments, const Communicator& world) {
  const Clock clock;
  const int groups = std::min<int>(concurrent, static_cast<int>(members.size()));
  if (groups > world.size()) {
    fail(Status::deck, "sweep.concurrent = " + std::to_string(groups) + " needs as many ranks; " +
                           std::to_string(world.size()) + " are there");
  }
  const int group = world.rank() * groups / world.size();
  const Communicator comm = world.split(group);
  // A group agrees on its error first; the other groups may be far from any end.
  const auto members_of_group = [&] {
    for (std::size_t i = group; i < members.size(); i += groups) {
      // One that came when the last member had no step left to stop at.
      if (comm.max(stop_signal()) > 0) break;
      release_stop_signals();
      Member& m = members[i];
      Console console(comm.is_root(), groups > 1 ? m.name + ": " : "");
      m.outcome = run_alone(*m.job, entry, {arguments, comm, console, clock});
      m.ran = true;
      if (!m.outcome.finished) break;
    }
  };
  world.on_all([&] { comm.on_all(members_of_group); });
  share_outcomes(members, world, comm.is_root());
}

/// All decks are read before the first member starts: a slip in the last must not cost a day.
std::vector<Member> read_members(const SweepPlan& sweep, const JobEntry& entry,
                                 const std::string& outdir) {
  std::vector<Member> members;
  for (const SweepMember& member : sweep.members) {
    members.push_back(
        {member.name, make_job(entry, {member.deck, member.name, outdir}), false, {}});
  }
  return members;
}

}  // namespace

void drive(const Deck& deck, const Arguments& arguments, const Communicator& world) {
  const JobEntry& entry = read_job(deck);
  const SweepPlan sweep = entry.sweeps ? expand_sweep(deck) : SweepPlan{{{"", deck, {}}}};
  std::vector<Member> members = read_members(sweep, entry, arguments.outdir);
  if (arguments.dry_run) return plan(members, arguments, world);
  if (members.size() > 1) {
    world.on_all([&] {
      for (const Member& m : members) m.job->check_restart(arguments);
    });
  }
  run(members, entry, sweep.concurrent, arguments, world);
  const bool summarised = std::any_of(members.begin(), members.end(),
                                      [](const Member& m) { return m.outcome.summarised; });
  if (!summarised) return;
  Console console(world.is_root());
  print_summary(members, arguments.outdir.empty() ? read_output_directory(deck) : arguments.outdir,
                console);
}

}  // namespace lexikos

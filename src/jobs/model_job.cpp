#include "jobs/model_job.hpp"

#include "data/open_data.hpp"

namespace lexikos {

std::optional<MemberCounts> ModelJob::plan(const JobContext& context) const {
  const Index vocabulary = read_vocabulary(settings_.data);
  const int asked = settings_.parallel.plan_ranks;
  const int ranks = asked > 0 ? asked : context.comm.size();
  const ModelSizes sizes = settings_.sizes(vocabulary, ranks);
  const Model<float> model(settings_.model, sizes);
  const std::string& interface = settings_.model.interface;
  context.console.line("# resolved deck" +
                       (settings_.member.empty() ? "" : " of member " + settings_.member));
  context.console.line(settings_.resolved_deck);
  context.console.line(model_tables(model, interface, memory_need(settings_, model, sizes, ranks)) +
                       fit_table(settings_, vocabulary, ranks));
  return member_counts(model, settings_.member);
}

MemberSettings read_member(const JobDeck& from) {
  return MemberSettings::read(from.deck, from.member, from.outdir);
}

}  // namespace lexikos

#include "train/member_settings.hpp"

#include <algorithm>

namespace lexikos {

MemberSettings MemberSettings::read(const Deck& deck, const std::string& member,
                                    const std::string& root) {
  MemberSettings s;
  s.model = ModelSettings::read(deck);
  s.run = RunSettings::read(deck, s.model.transformer.context);
  s.adamw = AdamWSettings::read(deck);
  s.schedule = Schedule::read(deck, s.run.steps);
  s.parallel = ParallelSettings::read(deck);
  s.spike_guard = SpikeGuardSettings::read(deck);
  s.resolved_deck = deck.resolved();
  s.member = member;
  s.directory = root.empty() ? s.run.directory : root;
  if (!member.empty()) s.directory += "/" + member;
  return s;
}

ModelSizes MemberSettings::sizes(Index vocabulary, int ranks) const {
  ModelSizes sizes;
  sizes.vocabulary = vocabulary;
  sizes.rank_sequences = share_of(run.batch_sequences, 0, ranks).size();
  sizes.micro_batch =
      run.micro_batch == 0 ? sizes.rank_sequences : std::min(run.micro_batch, sizes.rank_sequences);
  return sizes;
}

}  // namespace lexikos

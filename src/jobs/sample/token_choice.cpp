#include "jobs/sample/token_choice.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/philox.hpp"

namespace lexikos {
namespace {

/// Ids by falling probability until their sum reaches `share`.
std::vector<Index> likeliest(const std::vector<double>& p, double share) {
  std::vector<Index> ids(p.size());
  std::iota(ids.begin(), ids.end(), Index{0});
  if (share >= 1.0) return ids;
  std::stable_sort(ids.begin(), ids.end(), [&](Index a, Index b) { return p[a] > p[b]; });
  const double wanted = share * std::accumulate(p.begin(), p.end(), 0.0);
  double sum = 0;
  std::size_t kept = 0;
  while (kept < ids.size() && sum < wanted) sum += p[ids[kept++]];
  ids.resize(std::max<std::size_t>(kept, 1));
  return ids;
}

}  // namespace

template <class S>
TokenId choose(const S* logits, Index vocabulary, const ChoiceSettings& settings, double u) {
  const S* const best = std::max_element(logits, logits + vocabulary);
  if (settings.temperature == 0) return static_cast<TokenId>(best - logits);
  std::vector<double> p(static_cast<std::size_t>(vocabulary));
  std::transform(logits, logits + vocabulary, p.begin(), [&](S logit) {
    return std::exp((static_cast<double>(logit) - *best) / settings.temperature);
  });
  const std::vector<Index> ids = likeliest(p, settings.top_p);
  double total = 0;
  for (const Index id : ids) total += p[id];
  double sum = 0;
  for (const Index id : ids) {
    sum += p[id];
    if (sum >= u * total) return static_cast<TokenId>(id);
  }
  return static_cast<TokenId>(best - logits);  // no sum reached u = 1 by a rounding
}

double draw(std::uint64_t seed, Index sample, Index place) {
  const std::uint64_t stream = stream_of("sample." + std::to_string(sample));
  const PhiloxWords w = random_words(seed, stream, static_cast<std::uint64_t>(place));
  return unit_interval(w.word[0], w.word[1]);
}

template TokenId choose<float>(const float*, Index, const ChoiceSettings&, double);
template TokenId choose<double>(const double*, Index, const ChoiceSettings&, double);

}  // namespace lexikos

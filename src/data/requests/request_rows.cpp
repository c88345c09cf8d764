#include "data/requests/request_rows.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace lexikos {
namespace {

/// The bundles of the requests [begin, end) of a question, which have one context.
void add_shared(const Requests& requests, Index begin, Index end, Index T,
                std::vector<Bundle>& bundles) {
  const Index before = requests.context_length(begin) - 1;
  Bundle bundle;
  const auto finish = [&] {
    if (bundle.branches.size() == 1) {
      bundles.push_back({{}, {whole_text(requests, bundle.branches.front().request, T)}});
    } else if (!bundle.branches.empty()) {
      bundles.push_back(bundle);
    }
    bundle = {};
  };
  for (Index r = begin; r < end; ++r) {
    const Index length = requests.continuation_length(r);
    if (before + length > T) {  // too long: by itself, cut from the left
      bundles.push_back({{}, {whole_text(requests, r, T)}});
      continue;
    }
    if (bundle.positions() + length > T) finish();
    if (bundle.branches.empty()) bundle.trunk = {r, 0, before, 0};
    bundle.branches.push_back({r, before, length, length});
  }
  finish();
}

void add_question(const Requests& requests, Index document, Index T, bool share,
                  std::vector<Bundle>& bundles) {
  const Index last = requests.first_request[document + 1];
  for (Index begin = requests.first_request[document]; begin < last;) {
    Index end = begin + 1;
    while (end < last && requests.context[end] == requests.context[begin]) ++end;
    if (share && end - begin > 1 && requests.context_length(begin) > 1) {
      add_shared(requests, begin, end, T, bundles);
    } else {
      for (Index r = begin; r < end; ++r) {
        bundles.push_back({{}, {whole_text(requests, r, T)}});
      }
    }
    begin = end;
  }
}

}  // namespace

Index Bundle::positions() const {
  Index sum = trunk.inputs;
  for (const Stretch& branch : branches) sum += branch.inputs;
  return sum;
}

Stretch whole_text(const Requests& requests, Index request, Index T) {
  const Index scored = requests.continuation_length(request);
  const Index length = requests.context_length(request) + scored;
  const Index begin = std::max<Index>(0, length - (T + 1));
  const Index inputs = length - 1 - begin;
  return {request, begin, inputs, std::min(scored, inputs)};
}

std::vector<Stretch> rolling_windows(const Requests& requests, Index request, Index T) {
  const Index total = requests.continuation_length(request);
  std::vector<Stretch> windows;
  for (Index done = 0; done < total;) {
    const Index scored = std::min(T, total - done);
    const Index end = done + scored;  // inputs are the ids [.., end) of prefix and page
    const Index begin = std::max<Index>(0, end - T);
    windows.push_back({request, begin, end - begin, scored});
    done = end;
  }
  return windows;
}

std::vector<Bundle> bundles_of(const Requests& requests, Index T, bool share) {
  std::vector<Bundle> bundles;
  for (Index d = 0; d < requests.documents(); ++d) {
    if (requests.task_of(d).shape != TaskShape::rolling) {
      add_question(requests, d, T, share, bundles);
      continue;
    }
    for (const Stretch& window : rolling_windows(requests, requests.first_request[d], T)) {
      bundles.push_back({{}, {window}});
    }
  }
  return bundles;
}

std::vector<std::vector<Index>> pack_rows(const std::vector<Bundle>& bundles, Index T) {
  std::vector<Index> length(bundles.size()), order(bundles.size());
  for (std::size_t i = 0; i < bundles.size(); ++i) length[i] = bundles[i].positions();
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return length[a] > length[b]; });
  std::vector<std::vector<Index>> rows;
  std::set<std::pair<Index, Index>> room;  // positions left, row
  for (const Index i : order) {
    auto found = room.lower_bound({length[i], 0});
    Index left = T, row = static_cast<Index>(rows.size());
    if (found == room.end()) {
      rows.emplace_back();
    } else {
      std::tie(left, row) = *found;
      room.erase(found);
    }
    rows[row].push_back(i);
    if (left > length[i]) room.insert({left - length[i], row});
  }
  return rows;
}

}  // namespace lexikos

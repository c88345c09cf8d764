#include "data/requests/row_loader.hpp"

#include <algorithm>

namespace lexikos {
namespace {

/// The lists of the buffers, each of most_positions words.
enum List : Index {
  distinct,
  slot,
  place_in_text,
  shared_begin,
  shared_end,
  own_begin,
  scored_position,
  scored_target,
  lists
};

}  // namespace

RowLoader::RowLoader(const Requests& requests, const std::vector<Bundle>& bundles,
                     const std::vector<std::vector<Index>>& rows, Index T, Index V, Index most)
    : requests_(requests),
      bundles_(bundles),
      rows_(rows),
      T_(T),
      most_positions_(most * T),
      staging_("Lexikos::data::rows_staging", static_cast<std::size_t>(lists * most * T)),
      device_(without_initializing("Lexikos::data::rows"),
              static_cast<std::size_t>(lists * most * T)),
      ids_(static_cast<std::size_t>(most * T)),
      row_of_(static_cast<std::size_t>(V)) {}

const RowBatch& RowLoader::load(Index begin, Index count) {
  const Index n = count * T_;
  batch_.request.clear();
  for (Index i = 0; i < count; ++i) fill_row(begin + i, i * T_);
  const Index distinct_count = find_distinct(n);
  // The one transfer of a batch; it waits for whatever still reads the device buffer.
  Kokkos::deep_copy(device_, staging_);

  const auto on_device = [&](Index list, Index length) {
    return View1<const std::int32_t>(
        reinterpret_cast<const std::int32_t*>(device_.data() + list * most_positions_), length);
  };
  const auto scored = static_cast<Index>(batch_.request.size());
  batch_.distinct = View1<const TokenId>(device_.data(), distinct_count);
  batch_.input = {count,
                  on_device(slot, n),
                  {on_device(place_in_text, n), on_device(shared_begin, n),
                   on_device(shared_end, n), on_device(own_begin, n)}};
  batch_.position = on_device(scored_position, scored);
  batch_.target = View1<const TokenId>(device_.data() + scored_target * most_positions_, scored);
  return batch_;
}

// Row `row` of the list at the positions [first, first + T) of the batch.
void RowLoader::fill_row(Index row, Index first) {
  Index at = 0;  // in the row
  for (const Index b : rows_[row]) {
    const Bundle& bundle = bundles_[b];
    const Index trunk_begin = at, trunk_end = at + bundle.trunk.inputs;
    place(bundle.trunk, first, at, at, at, 0);
    at = trunk_end;
    for (const Stretch& branch : bundle.branches) {
      place(branch, first, at, trunk_begin, trunk_end, bundle.trunk.inputs);
      at += branch.inputs;
    }
  }
  // What is left of the row sees only itself and is never scored.
  for (Index i = at; i < T_; ++i) {
    ids_[first + i] = 0;
    staged(place_in_text)[first + i] = 0;
    staged(shared_begin)[first + i] = 0;
    staged(shared_end)[first + i] = 0;
    staged(own_begin)[first + i] = static_cast<std::int32_t>(i);
  }
}

// The stretch at [at, at + inputs) of its row; its first input is at `position` of its text.
void RowLoader::place(const Stretch& stretch, Index first, Index at, Index trunk_begin,
                      Index trunk_end, Index position) {
  std::int32_t* const next = staged(scored_position);
  std::uint32_t* const target = host_pointer(staging_) + scored_target * most_positions_;
  for (Index i = 0; i < stretch.inputs; ++i) {
    const Index n = first + at + i;
    ids_[n] = requests_.id(stretch.request, stretch.begin + i);
    staged(place_in_text)[n] = static_cast<std::int32_t>(position + i);
    staged(shared_begin)[n] = static_cast<std::int32_t>(trunk_begin);
    staged(shared_end)[n] = static_cast<std::int32_t>(trunk_end);
    staged(own_begin)[n] = static_cast<std::int32_t>(at);
    if (i < stretch.inputs - stretch.scored) continue;
    const std::size_t k = batch_.request.size();
    next[k] = static_cast<std::int32_t>(n);
    target[k] = requests_.id(stretch.request, stretch.begin + i + 1);
    batch_.request.push_back(stretch.request);
  }
}

// Distinct ids in ascending order, and the row of each position.
Index RowLoader::find_distinct(Index positions) {
  std::uint32_t* const list = host_pointer(staging_);
  std::copy_n(ids_.begin(), positions, list);
  std::sort(list, list + positions);
  const Index count = std::unique(list, list + positions) - list;
  for (Index u = 0; u < count; ++u) row_of_[list[u]] = static_cast<std::int32_t>(u);
  for (Index n = 0; n < positions; ++n) staged(slot)[n] = row_of_[ids_[n]];
  return count;
}

}  // namespace lexikos

#include "data/step_batch.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "utils/error.hpp"

namespace lexikos {

namespace {

constexpr Index alignment_words = 16;  // windows begin at multiples of 64 bytes

Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

void check_counts(Index sequences_global, int rank, int rank_count, Index micro_sequences) {
  if (sequences_global < 1) {
    fail(Status::deck, "a step must hold at least one sequence; the global batch gives " +
                           std::to_string(sequences_global));
  }
  if (micro_sequences < 1) {
    fail(Status::deck, "a micro-batch must hold at least one sequence; it has " +
                           std::to_string(micro_sequences));
  }
  if (rank < 0 || rank >= rank_count) {
    fail(Status::deck,
         "there is no rank " + std::to_string(rank) + " among " + std::to_string(rank_count));
  }
}

}  // namespace

Share share_of(Index count, int rank, int rank_count) {
  const Index base = count / rank_count;
  const Index longer = count % rank_count;
  const Index begin = rank * base + std::min<Index>(rank, longer);
  return {begin, begin + base + (rank < longer ? 1 : 0)};
}

WindowSelection select_windows(const TokenSource& source, Index T, Index tokens) {
  const Index all = window_count(source, T);
  if (tokens <= 0) return {all, all};
  return {std::clamp<Index>(tokens / T, 1, all), all};
}

std::vector<std::uint64_t> count_targets(const TokenSource& source, Index T,
                                         const WindowSelection& windows) {
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(source.vocabulary_size()), 0);
  std::vector<TokenId> ids(static_cast<std::size_t>(T));
  for (Index i = 0; i < windows.count; ++i) {
    const Index begin = windows.window(i) * T + 1;
    source.read(begin, T, ids.data());
    for (Index t = 0; t < T; ++t) {
      if (ids[t] >= counts.size()) fail_token_id(source, begin + t, ids[t]);
      ++counts[ids[t]];
    }
  }
  return counts;
}

BatchLoader::BatchLoader(const TokenSource& source, Index T, Index sequences_global, int rank,
                         int rank_count, Index micro_batch_sequences, std::uint64_t seed)
    : BatchLoader(source, T, sequences_global, rank, rank_count, micro_batch_sequences, seed,
                  std::nullopt) {}

BatchLoader::BatchLoader(const TokenSource& source, Index T, Index sequences_global, int rank,
                         int rank_count, Index micro_batch_sequences, WindowSelection windows)
    : BatchLoader(source, T, sequences_global, rank, rank_count, micro_batch_sequences, 0,
                  std::optional(windows)) {}

BatchLoader::BatchLoader(const TokenSource& source, Index T, Index sequences_global, int rank,
                         int rank_count, Index micro_batch_sequences, std::uint64_t seed,
                         std::optional<WindowSelection> windows)
    : source_(source),
      T_(T),
      sequences_global_(sequences_global),
      rank_(rank),
      rank_count_(rank_count),
      micro_sequences_(micro_batch_sequences),
      windows_(windows),
      sample_count_(window_count(source, T)),
      order_(seed, sample_count_) {
  check_counts(sequences_global, rank, rank_count, micro_batch_sequences);
  if (windows_) {
    if (windows_->count < 1 || windows_->count > sample_count_ ||
        windows_->total != sample_count_) {
      fail(Status::deck, std::to_string(windows_->count) + " of " +
                             std::to_string(windows_->total) + " windows cannot be selected from the " +
                             std::to_string(sample_count_) + " of '" + source.name() + "'");
    }
    sample_count_ = windows_->count;
    sequences_global_ = std::min(sequences_global_, sample_count_);
  }
  lay_out();
}

void BatchLoader::lay_out() {
  // Rank 0 has the largest share; every rank plans its own.
  const Index most = share_of(sequences_global_, rank_, rank_count_).size();
  if (most > std::numeric_limits<std::int32_t>::max() / T_) {
    fail(Status::resource, "a rank would hold " + std::to_string(most) + " sequences of " +
                               std::to_string(T_) +
                               " tokens in one step, more than 2^31 positions; use more ranks or a "
                               "smaller global batch");
  }
  micro_sequences_ = std::min(micro_sequences_, std::max<Index>(most, 1));
  const Index v = source_.vocabulary_size();
  const Index distinct_most = std::min(v, most * T_);

  Index words = 0;
  const auto place = [&](Index count) {
    const Index begin = words;
    words += ceil_div(count, alignment_words) * alignment_words;
    return begin;
  };
  place(distinct_most);
  for (Index begin = 0; begin < most; begin += micro_sequences_) {
    const Index n = std::min(micro_sequences_, most - begin) * T_;
    const Index touched = std::min(v, n);
    Places places{};
    places.ids = place(n);
    places.targets = place(n);
    places.slot = place(n);
    places.touched = place(touched);
    places.bucket_begin = place(touched + 1);
    places.bucket_position = place(n);
    places_.push_back(places);
  }

  staging_ = HostBuffer<std::uint32_t>("Lexikos::data::staging", static_cast<std::size_t>(words));
  device_ = Buffer<std::uint32_t>(without_initializing("Lexikos::data::batch"),
                                  static_cast<std::size_t>(words));
  window_.resize(static_cast<std::size_t>(T_ + 1));
  present_.resize(static_cast<std::size_t>(ceil_div(v, 64)));
  row_of_.resize(static_cast<std::size_t>(v));
  cursor_.resize(static_cast<std::size_t>(distinct_most));
  batch_.T = T_;
  batch_.micro.reserve(places_.size());
}

Index BatchLoader::steps() const {
  return windows_ ? ceil_div(sample_count_, sequences_global_) : -1;
}

Share BatchLoader::global_samples(Index step) const {
  const Index begin = step * sequences_global_;
  if (!windows_) return {begin, begin + sequences_global_};
  return {std::min(begin, sample_count_), std::min(begin + sequences_global_, sample_count_)};
}

Share BatchLoader::samples(Index step) const {
  const Share all = global_samples(step);
  const Share mine = share_of(all.size(), rank_, rank_count_);
  return {all.begin + mine.begin, all.begin + mine.end};
}

Index BatchLoader::window(Index global) const {
  return windows_ ? windows_->window(global) : order_.sample(global);
}

Index BatchLoader::bytes() const {
  return static_cast<Index>(device_.extent(0) * sizeof(std::uint32_t));
}

Index BatchLoader::host_bytes() const {
  return static_cast<Index>(staging_.extent(0) * sizeof(std::uint32_t) +
                            window_.size() * sizeof(TokenId) +
                            present_.size() * sizeof(std::uint64_t) +
                            (row_of_.size() + cursor_.size()) * sizeof(std::int32_t));
}

const StepBatch& BatchLoader::load(Index step) {
  const Share all = global_samples(step);
  if (step < 0 || all.size() == 0) {
    fail(Status::file, "there is no step " + std::to_string(step) + " in '" + source_.name() +
                           "', which is read in " + std::to_string(steps()) + " steps");
  }
  const Share mine = samples(step);
  batch_.sequences = mine.size();
  batch_.targets_global = all.size() * T_;

  batch_.micro.resize(static_cast<std::size_t>(ceil_div(mine.size(), micro_sequences_)));
  for (std::size_t m = 0; m < batch_.micro.size(); ++m) {
    const Index begin = static_cast<Index>(m) * micro_sequences_;
    batch_.micro[m].sequences = std::min(micro_sequences_, mine.size() - begin);
    batch_.micro[m].T = T_;
  }

  read_windows(mine);
  find_distinct();
  for (std::size_t m = 0; m < batch_.micro.size(); ++m) fill_buckets(batch_.micro[m], places_[m]);
  // The one transfer of a step; it waits for whatever still reads the device buffer.
  if (mine.size() > 0) Kokkos::deep_copy(device_, staging_);
  return batch_;
}

// Puts ids and targets into the staging buffer and marks the ids that are present.
void BatchLoader::read_windows(Share samples) {
  const auto v = static_cast<TokenId>(source_.vocabulary_size());
  std::fill(present_.begin(), present_.end(), 0);
  for (Index i = 0; i < samples.size(); ++i) {
    const Index begin = window(samples.begin + i) * T_;
    source_.read(begin, T_ + 1, window_.data());
    const Places& places = places_[static_cast<std::size_t>(i / micro_sequences_)];
    const Index row = i % micro_sequences_ * T_;
    std::uint32_t* ids = staging_.data() + places.ids + row;
    std::uint32_t* targets = staging_.data() + places.targets + row;
    for (Index t = 0; t <= T_; ++t) {
      if (window_[t] >= v) fail_token_id(source_, begin + t, window_[t]);
    }
    for (Index t = 0; t < T_; ++t) {
      const TokenId id = window_[t];
      ids[t] = id;
      targets[t] = window_[t + 1];
      present_[id >> 6] |= std::uint64_t{1} << (id & 63);
    }
  }
}

// Distinct ids in ascending order, and the row of each.
void BatchLoader::find_distinct() {
  std::uint32_t* distinct = staging_.data();
  std::int32_t count = 0;
  for (std::size_t w = 0; w < present_.size(); ++w) {
    for (std::uint64_t bits = present_[w]; bits != 0; bits &= bits - 1) {
      const auto id = static_cast<TokenId>(w * 64 + std::countr_zero(bits));
      row_of_[id] = count;
      distinct[count++] = id;
    }
  }
  batch_.distinct_count = count;
  batch_.distinct = View1<const TokenId>(device_.data(), count);
}

// Rows of the positions, and the positions of each row: a counting sort.
void BatchLoader::fill_buckets(MicroBatch& micro, const Places& places) {
  const Index n_count = micro.sequences * T_;
  const auto staged = [&](Index place) {
    return reinterpret_cast<std::int32_t*>(staging_.data() + place);
  };
  const std::uint32_t* ids = staging_.data() + places.ids;
  std::int32_t* slot = staged(places.slot);
  std::int32_t* touched = staged(places.touched);
  std::int32_t* begin = staged(places.bucket_begin);
  std::int32_t* position = staged(places.bucket_position);

  std::fill_n(cursor_.begin(), batch_.distinct_count, 0);
  for (Index n = 0; n < n_count; ++n) {
    slot[n] = row_of_[ids[n]];
    ++cursor_[slot[n]];
  }
  Index touched_count = 0;
  std::int32_t sum = 0;
  for (Index u = 0; u < batch_.distinct_count; ++u) {
    const std::int32_t count = cursor_[u];
    if (count == 0) continue;
    touched[touched_count] = static_cast<std::int32_t>(u);
    begin[touched_count++] = sum;
    cursor_[u] = sum;
    sum += count;
  }
  begin[touched_count] = sum;
  for (Index n = 0; n < n_count; ++n) {
    position[cursor_[slot[n]]++] = static_cast<std::int32_t>(n);
  }

  std::uint32_t* device = device_.data();
  const auto on_device = [&](Index place, Index count) {
    return View1<const std::int32_t>(reinterpret_cast<const std::int32_t*>(device + place), count);
  };
  micro.ids = View1<const TokenId>(device + places.ids, n_count);
  micro.targets = View1<const TokenId>(device + places.targets, n_count);
  micro.slot = on_device(places.slot, n_count);
  micro.touched_count = touched_count;
  micro.touched = on_device(places.touched, touched_count);
  micro.bucket_begin = on_device(places.bucket_begin, touched_count + 1);
  micro.bucket_position = on_device(places.bucket_position, n_count);
}

}  // namespace lexikos

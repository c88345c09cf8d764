#include "data/batches/host_batch.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "utils/error.hpp"

namespace lexikos {

namespace {

constexpr Index alignment_words = 16;  // parts begin at multiples of 64 bytes

Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

// Never inline: clang 14 takes a loop of these for one whose turns are independent and makes
// vectors of it, though two ids of a vector may be in one word.
[[gnu::noinline]] void mark(std::vector<std::uint64_t>& present, TokenId id) {
  present[id >> 6] |= std::uint64_t{1} << (id & 63);
}

void check_documents(const Samples& samples) {
  for (Index i = 0; i < samples.source_count(); ++i) {
    if (samples.source(i).knows_documents()) continue;
    fail(Status::deck, "data.document_mask: '" + samples.source(i).name() +
                           "' does not say where its documents end; give data.end_of_text");
  }
}

}  // namespace

BatchLayout::BatchLayout(Index vocabulary_size, Index T, Index most, Index micro_sequences,
                         bool document_mask)
    : T(T),
      micro_sequences(std::min(micro_sequences, std::max<Index>(most, 1))),
      vocabulary_size(vocabulary_size),
      document_mask(document_mask) {
  if (most > std::numeric_limits<std::int32_t>::max() / T) {
    fail(Status::resource, "a rank would hold " + std::to_string(most) + " sequences of " +
                               std::to_string(T) +
                               " tokens in one step, more than 2^31 positions; use more ranks or a "
                               "smaller global batch");
  }
  distinct_most = std::min(vocabulary_size, most * T);
  const auto place = [&](Index count) {
    const Index begin = words;
    words += ceil_div(count, alignment_words) * alignment_words;
    return begin;
  };
  place(distinct_most);
  for (Index begin = 0; begin < most; begin += this->micro_sequences) {
    const Index n = std::min(this->micro_sequences, most - begin) * T;
    const Index touched = std::min(vocabulary_size, n);
    Places places{};
    places.ids = place(n);
    places.targets = place(n);
    places.slot = place(n);
    places.touched = place(touched);
    places.bucket_begin = place(touched + 1);
    places.bucket_position = place(n);
    if (document_mask) {
      places.place = place(n);
      places.nothing = place(n);
      places.own_begin = place(n);
    }
    micro.push_back(places);
  }
}

HostBatch::HostBatch(Samples samples, const BatchLayout& layout)
    : samples_(std::move(samples)),
      layout_(layout),
      words_("Lexikos::data::staging", static_cast<std::size_t>(layout.words)) {
  window_.resize(static_cast<std::size_t>(layout.T + 1));
  starts_.reserve(static_cast<std::size_t>(layout.T));
  present_.resize(static_cast<std::size_t>(ceil_div(layout.vocabulary_size, 64)));
  row_of_.resize(static_cast<std::size_t>(layout.vocabulary_size));
  cursor_.resize(static_cast<std::size_t>(layout.distinct_most));
  touched_counts_.reserve(layout.micro.size());
  if (layout.document_mask) check_documents(samples_);
}

Index HostBatch::bytes() const {
  return static_cast<Index>(words_.extent(0) * sizeof(std::uint32_t) +
                            window_.size() * sizeof(TokenId) + starts_.capacity() * sizeof(Index) +
                            present_.size() * sizeof(std::uint64_t) +
                            (row_of_.size() + cursor_.size()) * sizeof(std::int32_t));
}

Index HostBatch::micro_sequences(Index m) const {
  return std::min(layout_.micro_sequences, sequences_ - m * layout_.micro_sequences);
}

void HostBatch::assemble(Share samples) {
  sequences_ = samples.size();
  read_windows(samples);
  find_distinct();
  touched_counts_.clear();
  for (Index m = 0; m < ceil_div(sequences_, layout_.micro_sequences); ++m) {
    touched_counts_.push_back(fill_buckets(m));
  }
}

// Puts ids and targets into the buffer and marks the ids that are present.
void HostBatch::read_windows(Share samples) {
  const Index T = layout_.T;
  std::fill(present_.begin(), present_.end(), 0);
  for (Index i = 0; i < samples.size(); ++i) {
    const Sample sample = samples_.sample(samples.begin + i);
    const TokenSource& source = samples_.source(sample.source);
    const auto v = static_cast<TokenId>(source.vocabulary_size());
    source.read(sample.begin, T + 1, window_.data());
    for (Index t = 0; t <= T; ++t) {
      if (window_[t] >= v) fail_token_id(source, sample.begin + t, window_[t]);
    }
    const BatchLayout::Places& places =
        layout_.micro[static_cast<std::size_t>(i / layout_.micro_sequences)];
    const Index row = i % layout_.micro_sequences * T;
    std::uint32_t* ids = host_pointer(words_) + places.ids + row;
    std::uint32_t* targets = host_pointer(words_) + places.targets + row;
    for (Index t = 0; t < T; ++t) {
      const TokenId id = window_[t];
      ids[t] = id;
      targets[t] = window_[t + 1];
      mark(present_, id);
    }
    if (!layout_.document_mask) continue;
    std::int32_t* place = whole_numbers(places.place) + row;
    for (Index t = 0; t < T; ++t) place[t] = static_cast<std::int32_t>(t);
    std::fill_n(whole_numbers(places.nothing) + row, T, 0);
    find_documents(sample, whole_numbers(places.own_begin) + row);
  }
}

// Where the document of each position of the window that was read begins, in places of the window:
// 0 for the one that the window begins in.
void HostBatch::find_documents(const Sample& sample, std::int32_t* own_begin) {
  const Index T = layout_.T;
  starts_.clear();
  samples_.source(sample.source).document_starts(sample.begin, T, window_.data(), starts_);
  Index begin = 0;
  std::size_t next = 0;
  for (Index t = 0; t < T; ++t) {
    if (next < starts_.size() && starts_[next] == t) begin = starts_[next++];
    own_begin[t] = static_cast<std::int32_t>(begin);
  }
}

// Distinct ids in ascending order, and the row of each.
void HostBatch::find_distinct() {
  std::uint32_t* distinct = host_pointer(words_);
  std::int32_t count = 0;
  for (std::size_t w = 0; w < present_.size(); ++w) {
    for (std::uint64_t bits = present_[w]; bits != 0; bits &= bits - 1) {
      const auto id = static_cast<TokenId>(w * 64 + std::countr_zero(bits));
      row_of_[id] = count;
      distinct[count++] = id;
    }
  }
  distinct_count_ = count;
}

// Rows of the positions of a micro-batch, and the positions of each row: a counting sort. Returns
// how many rows there are.
Index HostBatch::fill_buckets(Index m) {
  const BatchLayout::Places& places = layout_.micro[static_cast<std::size_t>(m)];
  const Index n_count = micro_sequences(m) * layout_.T;
  const std::uint32_t* ids = host_pointer(words_) + places.ids;
  std::int32_t* slot = whole_numbers(places.slot);
  std::int32_t* touched = whole_numbers(places.touched);
  std::int32_t* begin = whole_numbers(places.bucket_begin);
  std::int32_t* position = whole_numbers(places.bucket_position);

  std::fill_n(cursor_.begin(), distinct_count_, 0);
  for (Index n = 0; n < n_count; ++n) {
    slot[n] = row_of_[ids[n]];
    ++cursor_[slot[n]];
  }
  Index touched_count = 0;
  std::int32_t sum = 0;
  for (Index u = 0; u < distinct_count_; ++u) {
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
  return touched_count;
}

}  // namespace lexikos

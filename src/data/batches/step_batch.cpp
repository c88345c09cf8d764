#include "data/batches/step_batch.hpp"

#include <algorithm>
#include <string>

#include "utils/error.hpp"

namespace lexikos {

namespace {

Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

void check(const BatchSizes& z) {
  if (z.sequences < 1) {
    fail(Status::deck, "a step must hold at least one sequence; the global batch gives " +
                           std::to_string(z.sequences));
  }
  if (z.micro_sequences < 1) {
    fail(Status::deck, "a micro-batch must hold at least one sequence; it has " +
                           std::to_string(z.micro_sequences));
  }
  if (z.rank < 0 || z.rank >= z.ranks) {
    fail(Status::deck,
         "there is no rank " + std::to_string(z.rank) + " among " + std::to_string(z.ranks));
  }
}

Index sequences_of(const Samples& samples, const BatchSizes& sizes) {
  check(sizes);
  return samples.endless() ? sizes.sequences : std::min(sizes.sequences, samples.count());
}

}  // namespace

BatchLoader::BatchLoader(const std::vector<WeightedSource>& sources, const BatchSizes& sizes,
                         std::uint64_t seed, const BatchOptions& options)
    : BatchLoader(Samples(sources, sizes.T, seed), sizes, options) {}

BatchLoader::BatchLoader(const TokenSource& source, const BatchSizes& sizes, std::uint64_t seed,
                         const BatchOptions& options)
    : BatchLoader(std::vector<WeightedSource>{{&source, 1.0}}, sizes, seed, options) {}

BatchLoader::BatchLoader(const TokenSource& source, const BatchSizes& sizes,
                         WindowSelection windows, const BatchOptions& options)
    : BatchLoader(Samples(source, sizes.T, windows), sizes, options) {}

BatchLoader::BatchLoader(Samples samples, const BatchSizes& sizes, const BatchOptions& options)
    : sequences_(sequences_of(samples, sizes)),
      rank_(sizes.rank),
      ranks_(sizes.ranks),
      layout_(samples.vocabulary_size(), sizes.T, share_of(sequences_, rank_, ranks_).size(),
              sizes.micro_sequences, options.document_mask),
      host_(std::make_unique<HostBatch>(std::move(samples), layout_)),
      device_(without_initializing("Lexikos::data::batch"),
              static_cast<std::size_t>(layout_.words)) {
  batch_.T = sizes.T;
  batch_.micro.reserve(layout_.micro.size());
  if (options.read_ahead && host_->samples().reads_on_any_thread()) {
    ahead_ =
        std::make_unique<ReadAhead>([host = host_.get()](Share share) { host->assemble(share); });
  }
}

Index BatchLoader::steps() const {
  return host_->samples().endless() ? -1 : ceil_div(sample_count(), sequences_);
}

Share BatchLoader::global_samples(Index step) const {
  const Index begin = step * sequences_;
  const Index end = begin + sequences_;
  if (host_->samples().endless()) return {begin, end};
  return {std::min(begin, sample_count()), std::min(end, sample_count())};
}

Share BatchLoader::samples(Index step) const {
  const Share all = global_samples(step);
  const Share mine = share_of(all.size(), rank_, ranks_);
  return {all.begin + mine.begin, all.begin + mine.end};
}

Index BatchLoader::bytes() const {
  return static_cast<Index>(device_.extent(0) * sizeof(std::uint32_t));
}

Index BatchLoader::host_bytes() const { return host_->bytes(); }

const StepBatch& BatchLoader::load(Index step) {
  const Share all = global_samples(step);
  if (step < 0 || all.size() == 0) {
    fail(Status::file, "there is no step " + std::to_string(step) + " in '" +
                           host_->samples().name() + "', which is read in " +
                           std::to_string(steps()) + " steps");
  }
  const Share mine = samples(step);
  const bool ready = ahead_ && ahead_->finish(mine);
  if (!ready) host_->assemble(mine);
  batch_.sequences = host_->sequences();
  batch_.targets_global = all.size() * batch_.T;
  point_to_device();
  // The one transfer of a step; it waits for whatever still reads the device buffer.
  if (batch_.sequences > 0) Kokkos::deep_copy(device_, host_->words());
  // The host buffer is free from here on.
  if (ahead_ && (host_->samples().endless() || step + 1 < steps()))
    ahead_->start(samples(step + 1));
  return batch_;
}

// The views of the batch: windows on the device buffer.
void BatchLoader::point_to_device() {
  std::uint32_t* device = device_.data();
  const auto whole_numbers = [&](Index place, Index count) {
    return View1<const std::int32_t>(reinterpret_cast<const std::int32_t*>(device + place), count);
  };
  batch_.distinct = View1<const TokenId>(device, host_->distinct_count());
  batch_.micro.resize(host_->touched_counts().size());
  for (std::size_t m = 0; m < batch_.micro.size(); ++m) {
    const BatchLayout::Places& places = layout_.micro[m];
    MicroBatch& micro = batch_.micro[m];
    micro.input.sequences = host_->micro_sequences(static_cast<Index>(m));
    const Index n_count = micro.input.sequences * batch_.T;
    micro.ids = View1<const TokenId>(device + places.ids, n_count);
    micro.targets = View1<const TokenId>(device + places.targets, n_count);
    micro.input.slot = whole_numbers(places.slot, n_count);
    const Index touched_count = host_->touched_counts()[m];
    micro.touched = whole_numbers(places.touched, touched_count);
    micro.bucket_begin = whole_numbers(places.bucket_begin, touched_count + 1);
    micro.bucket_position = whole_numbers(places.bucket_position, n_count);
    if (layout_.document_mask) {
      const auto nothing = whole_numbers(places.nothing, n_count);
      micro.input.spans = {whole_numbers(places.place, n_count), nothing, nothing,
                           whole_numbers(places.own_begin, n_count), true};
    }
  }
}

}  // namespace lexikos

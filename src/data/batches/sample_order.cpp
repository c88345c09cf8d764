#include "data/batches/sample_order.hpp"

#include <bit>
#include <string>

#include "kernels/philox.hpp"
#include "utils/error.hpp"

namespace lexikos {

SampleOrder::SampleOrder(std::uint64_t seed, Index sample_count)
    : seed_(seed), count_(static_cast<std::uint64_t>(sample_count)) {
  if (sample_count < 1) {
    fail(Status::deck,
         "an order needs at least one sample; there are " + std::to_string(sample_count));
  }
  const int bits = std::bit_width(count_ - 1);  // at most 63
  high_bits_ = bits / 2;
  low_bits_ = bits - high_bits_;
}

Index SampleOrder::sample(Index global) const {
  return sample(global / sample_count(), global % sample_count());
}

Index SampleOrder::sample(Index epoch, Index position) const {
  constexpr int rounds = 10;
  const std::uint64_t key = seed_ ^ stream_of("sample order");
  const auto low_mask = static_cast<std::uint32_t>((std::uint64_t{1} << low_bits_) - 1);
  const auto high_mask = static_cast<std::uint32_t>((std::uint64_t{1} << high_bits_) - 1);
  const auto e = static_cast<std::uint64_t>(epoch);

  const auto scramble = [&](std::uint32_t half, int round) {
    const PhiloxWords counter{{half, static_cast<std::uint32_t>(round),
                               static_cast<std::uint32_t>(e), static_cast<std::uint32_t>(e >> 32)}};
    return philox4x32(counter, static_cast<std::uint32_t>(key),
                      static_cast<std::uint32_t>(key >> 32))
        .word[0];
  };

  auto value = static_cast<std::uint64_t>(position);
  do {
    auto low = static_cast<std::uint32_t>(value & low_mask);
    auto high = static_cast<std::uint32_t>(value >> low_bits_);
    // Each line can be undone, since the half that it reads stays as it is.
    for (int round = 0; round < rounds; round += 2) {
      low ^= scramble(high, round) & low_mask;
      high ^= scramble(low, round + 1) & high_mask;
    }
    value = std::uint64_t{high} << low_bits_ | low;
  } while (value >= count_);
  return static_cast<Index>(value);
}

}  // namespace lexikos

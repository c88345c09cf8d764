// Bins of ids by their relative frequency in training.
#include <cmath>

#include "data/tokens/frequency_bins.hpp"
#include "harness/catch.hpp"
#include "harness/file_fixtures.hpp"

using namespace lexikos;
using namespace fixtures;

TEST_CASE("ids fall into the bin that holds their relative frequency") {
  // Of 1,000 tokens: an id on an edge belongs to the bin above it.
  const std::vector<std::uint64_t> counts = {0, 1, 9, 10, 99, 100, 781, 0};
  const FrequencyBins bins({0.01, 0.1}, counts, 10);
  REQUIRE(bins.count() == 3);
  CHECK(bins.bin_of() == std::vector<std::uint8_t>{0, 0, 0, 1, 1, 2, 2, 0, 0, 0});
  CHECK(bins.bins()[0].lower == 0.0);
  CHECK(bins.bins()[0].upper == 0.01);
  CHECK(bins.bins()[0].ids == 6);  // never seen and padded ones included
  CHECK(bins.bins()[1].lower == 0.01);
  CHECK(bins.bins()[1].upper == 0.1);
  CHECK(bins.bins()[1].ids == 2);
  CHECK(bins.bins()[2].lower == 0.1);
  CHECK(std::isinf(bins.bins()[2].upper));
  CHECK(bins.bins()[2].ids == 2);
}

TEST_CASE("no edges make one bin, no counts none") {
  const FrequencyBins one({}, {3, 4}, 2);
  REQUIRE(one.count() == 1);
  CHECK(one.bins()[0].lower == 0.0);
  CHECK(one.bins()[0].ids == 2);
  CHECK(FrequencyBins().count() == 0);
}

TEST_CASE("as many edges as are permitted still fit a byte") {
  std::vector<double> edges;
  std::vector<std::uint64_t> counts;
  for (std::size_t i = 1; i <= FrequencyBins::max_edges; ++i) {
    edges.push_back(static_cast<double>(i) / 1000.0);
  }
  const FrequencyBins bins(edges, {0, 1000}, 2);
  CHECK(bins.bin_of() == std::vector<std::uint8_t>{0, 255});
}

TEST_CASE("counts that cannot be used are refused") {
  CHECK(contains(error_of([] { FrequencyBins({0.1}, {0, 0}, 2); }), "are zero"));
  CHECK(contains(error_of([] { FrequencyBins({0.1}, {1, 2, 3}, 2); }), "of 3 ids"));
}

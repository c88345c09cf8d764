// The table of ranks at the start of a run, and its warnings.
#include <algorithm>
#include <sstream>

#include "console/placement.hpp"
#include "harness/catch.hpp"

using namespace lexikos;

namespace {

/// Hosts of `per_host` ranks, a device and 8 cores each.
std::vector<Placement> cluster(int ranks, int per_host) {
  std::vector<Placement> all;
  for (int i = 0; i < ranks; ++i) {
    Placement p{
        "node" + std::to_string(i / per_host), "0000:" + std::to_string(i % per_host), 8, {}};
    for (int core = 0; core < 8; ++core) p.cores.push_back(8 * (i % per_host) + core);
    all.push_back(p);
  }
  return all;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the placement table has a line for each of a few ranks") {
  const auto lines = lines_of(placement_table(cluster(4, 2)));
  REQUIRE(lines.size() == 5);
  CHECK(lines[0] == "ranks         host               device          threads  cores");
  CHECK(lines[1] == "0             node0              0000:0                8  0-7");
  CHECK(lines[4] == "3             node1              0000:1                8  8-15");
}

TEST_CASE("the placement table of many ranks is short and at most 80 columns wide") {
  auto ranks = cluster(4096, 8);
  ranks[0].host = std::string(100, 'h');
  for (int core = 0; core < 300; ++core) ranks[9].cores.push_back(3 * core + 1000);
  const auto lines = lines_of(placement_table(ranks));
  CHECK(lines.size() == 18);
  CHECK(contains(lines[3], "8-15          node1              8 devices             8"));
  CHECK(lines.back() == "and 497 lines more");
  for (const std::string& line : lines) CHECK(line.size() <= 80);
}

TEST_CASE("two ranks on one device are warned of, once") {
  CHECK(placement_warnings(cluster(16, 4)).empty());
  auto ranks = cluster(16, 4);
  for (int i = 4; i < 8; ++i) ranks[i].device = ranks[4].device;
  const auto warnings = placement_warnings(ranks);
  REQUIRE(warnings.size() == 1);
  CHECK(contains(warnings[0], "several ranks share a device (ranks 4-7 on node1)"));
  for (Placement& p : ranks) p.device.clear();  // on the host sharing is no matter
  CHECK(placement_warnings(ranks).empty());
}

TEST_CASE("fewer cores than threads are warned of, with the ranks") {
  auto ranks = cluster(8, 2);
  ranks[3].cores = {5};
  ranks[5].cores = {5};
  ranks[7].cores.clear();  // unknown
  const auto warnings = placement_warnings(ranks);
  REQUIRE(warnings.size() == 1);
  CHECK(contains(warnings[0], "8 threads share 1 core (rank 3 on node1, rank 5 on node2)"));
}

// The table of regions that the job bench prints.
#include <chrono>
#include <thread>

#include "harness/catch.hpp"
#include "jobs/bench/region_table.hpp"
#include "kokkos_types.hpp"

using namespace lexikos;

namespace {

void wait(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

/// The line that begins with a name; "" if there is none.
std::string line_of(const std::vector<std::string>& lines, const std::string& name) {
  for (const std::string& line : lines) {
    if (line.rfind(name + " ", 0) == 0) return line;
  }
  return "";
}

double milliseconds(const std::string& line) { return std::stod(line.substr(32)); }

}  // namespace

TEST_CASE("regions: inner seconds belong to the inner region", "[regions]") {
  REQUIRE(RegionTable::available());
  RegionTable table;
  { const Region unheard("Lexikos::test::before"); }
  table.start();
  for (int i = 0; i < 2; ++i) {
    const Region outer("Lexikos::test::outer");
    wait(10);
    {
      const Region inner("Lexikos::gemm", {.flops = 4e6});
      wait(30);
    }
    const Region other("Lexikos::copy::forward", {.flops = 1, .bytes = 8e6});
    wait(20);
  }
  table.stop();
  { const Region unheard("Lexikos::test::after"); }
  // Two steps of 70 ms, of which 10 are nobody's; bounds of 1 GFLOP/s and 1 GB/s.
  const auto lines = table.lines(2, 0.07, 1e9, 1e9);
  CHECK(line_of(lines, "test::before").empty());
  CHECK(line_of(lines, "test::after").empty());
  const std::string gemm = line_of(lines, "test::outer/gemm"),
                    copy = line_of(lines, "copy::forward"), outer = line_of(lines, "test::outer");
  REQUIRE_FALSE(gemm.empty());
  REQUIRE_FALSE(copy.empty());
  REQUIRE_FALSE(outer.empty());
  // Sleeping takes at least as long as was asked, and every line is of its own seconds.
  CHECK(milliseconds(gemm) >= 30);
  CHECK(milliseconds(copy) >= 20);
  CHECK(milliseconds(outer) >= 10);
  CHECK(milliseconds(outer) < milliseconds(copy));
  CHECK(gemm.find("% GEMM") != std::string::npos);
  CHECK(copy.find("% copy") != std::string::npos);  // by bytes it would take longer
  CHECK(outer.find("GEMM") == std::string::npos);
  for (const std::string& line : lines) CHECK(line.size() <= 80);
  CHECK(table.seconds_of("test::outer") >= 0.12);  // of both steps, inner regions included
  CHECK(table.seconds_of("copy::forward") >= 0.04);
  CHECK(table.seconds_of("copy::forward") < table.seconds_of("test::outer"));
  CHECK(table.seconds_of("test::before") == 0);
  // 4 MFLOP and 8 MB a step, each the slower way.
  CHECK(table.bound_seconds(2, 1e9, 1e9) == Approx(0.012));
}

TEST_CASE("regions: the largest come first, what is small is summed", "[regions]") {
  RegionTable table;
  table.start();
  { const Region small("Lexikos::test::small"); }
  {
    const Region large("Lexikos::test::large");
    wait(5);
  }
  table.stop();
  const auto lines = table.lines(1, 1.0, 1e9, 1e9);
  REQUIRE(lines.size() == 3);
  CHECK(lines[1].rfind("test::large", 0) == 0);
  CHECK(lines[2].rfind("the rest", 0) == 0);
  CHECK(milliseconds(lines[2]) == Approx(1000 - milliseconds(lines[1])).margin(0.02));
}

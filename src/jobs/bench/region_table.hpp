// Where the seconds of a step go, region by region, with what bounds each: for the job `bench`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "region.hpp"

namespace lexikos {

/// Listens to the regions that host code enters (region.hpp) through Kokkos' own hooks for tools.
/// One at a time. Each region's beginning and end waits for the device, so that its seconds are its
/// own: steps take somewhat longer on a GPU while it listens.
class RegionTable {
 public:
  RegionTable() = default;
  ~RegionTable() { stop(); }
  RegionTable(const RegionTable&) = delete;
  RegionTable& operator=(const RegionTable&) = delete;

  /// False where an external tool holds the hooks: then nothing is heard.
  static bool available();

  void start();
  void stop();

  /// Seconds in all that a region took, inner regions included: "model::interface" of
  /// Lexikos::model::interface. 0 where it was not entered.
  double seconds_of(const std::string& name) const;

  /// Seconds of a step in which every region runs at its bound (see lines).
  double bound_seconds(double steps, double gemm_rate, double copy_rate) const;

  /// Rows of text, at most 80 columns: milliseconds of each of `steps` steps outside of inner
  /// regions, share of `step_seconds`, rate, and the rate's share of its bound: `gemm_rate`
  /// (FLOP/s) or `copy_rate` (bytes read and written a second). Regions below 0.1 % are summed.
  std::vector<std::string> lines(double steps, double step_seconds, double gemm_rate,
                                 double copy_rate) const;

 private:
  struct Row {
    double seconds = 0, calls = 0;  // seconds without those of inner regions
    double whole_seconds = 0;       // with them
    Work work;
  };
  struct Entry {
    std::string name;
    double begin, inner;
  };
  void push(const char* label);
  void pop();

  static RegionTable* listener;
  std::map<std::string, Row> rows_;
  std::vector<Entry> stack_;
};

/// Bytes a second, read and written, of a copy of 256 MB in device memory: the fastest of several.
double measure_copy_rate();

}  // namespace lexikos

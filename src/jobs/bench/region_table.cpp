#include "jobs/bench/region_table.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "kokkos_types.hpp"

namespace lexikos {
namespace {

namespace hooks = Kokkos::Tools::Experimental;

constexpr double smallest_share = 1e-3;

double now() {
  static const Kokkos::Timer timer;
  return timer.seconds();
}

/// The name of a row: "rmsnorm::forward" for "Lexikos::rmsnorm::forward"; what belongs to no
/// package and no operator says where it is, "head::loss/gemm" for "Lexikos::gemm" in "head::loss".
std::string row_name(const std::string& outer, const std::string& label) {
  const std::string project = "Lexikos::";
  const std::string name = label.rfind(project, 0) == 0 ? label.substr(project.size()) : label;
  const bool says_all = outer.empty() || name.find("::") != std::string::npos;
  return says_all ? name : outer + "/" + name;
}

}  // namespace

RegionTable* RegionTable::listener = nullptr;

bool RegionTable::available() {
#if defined(LEXIKOS_EMULATE_DEVICE)
  return true;  // the emulation listens to kernels and copies, not to regions
#else
  return !Kokkos::Profiling::profileLibraryLoaded();
#endif
}

void RegionTable::start() {
  if (!available()) return;
  listener = this;
  hooks::set_push_region_callback([](const char* label) { listener->push(label); });
  hooks::set_pop_region_callback([]() { listener->pop(); });
  observe_work = [](const Work& work) {
    Row& row = listener->rows_[listener->stack_.back().name];
    row.work.flops += work.flops;
    row.work.bytes += work.bytes;
  };
}

void RegionTable::stop() {
  if (listener != this) return;
  observe_work = nullptr;
  hooks::set_push_region_callback(nullptr);
  hooks::set_pop_region_callback(nullptr);
  listener = nullptr;
  stack_.clear();
}

void RegionTable::push(const char* label) {
  ExecSpace().fence();
  const std::string outer = stack_.empty() ? "" : stack_.back().name;
  stack_.push_back({row_name(outer, label), now(), 0.0});
}

void RegionTable::pop() {
  if (stack_.empty()) return;  // entered before this table listened
  ExecSpace().fence();
  const Entry entry = stack_.back();
  stack_.pop_back();
  const double seconds = now() - entry.begin;
  Row& row = rows_[entry.name];
  row.seconds += seconds - entry.inner;
  row.whole_seconds += seconds;
  row.calls += 1;
  if (!stack_.empty()) stack_.back().inner += seconds;
}

double RegionTable::seconds_of(const std::string& name) const {
  const auto row = rows_.find(name);
  return row == rows_.end() ? 0.0 : row->second.whole_seconds;
}

double RegionTable::bound_seconds(double steps, double gemm_rate, double copy_rate) const {
  double seconds = 0;
  for (const auto& [name, row] : rows_) {
    seconds += std::max(row.work.flops / gemm_rate, row.work.bytes / copy_rate);
  }
  return seconds / steps;
}

std::vector<std::string> RegionTable::lines(double steps, double step_seconds, double gemm_rate,
                                            double copy_rate) const {
  std::vector<std::pair<std::string, Row>> rows(rows_.begin(), rows_.end());
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  char text[120];
  std::snprintf(text, sizeof text, "%-32s %7s %6s %5s %-13s %s", "region", "ms", "share", "calls",
                "         rate", "of its bound");
  std::vector<std::string> lines{text};
  double listed = 0;
  const auto add = [&](const std::string& name, double seconds, double calls,
                       const std::string& rate) {
    std::snprintf(text, sizeof text, "%-32s %7.2f %5.1f%% %5.0f %s", name.c_str(), 1e3 * seconds,
                  100.0 * seconds / step_seconds, calls, rate.c_str());
    lines.emplace_back(text);
  };
  for (const auto& [name, row] : rows) {
    const double seconds = row.seconds / steps;
    if (seconds < smallest_share * step_seconds) continue;
    listed += seconds;
    // A region with both is bound by the one that would take longer.
    const double by_gemm = row.work.flops / gemm_rate, by_copy = row.work.bytes / copy_rate;
    std::string rate;
    if (by_gemm > 0 || by_copy > 0) {
      const bool gemm = by_gemm >= by_copy;
      std::snprintf(text, sizeof text, "%5.0f G%s  %3.0f%% %s",
                    (gemm ? row.work.flops : row.work.bytes) / row.seconds * 1e-9,
                    gemm ? "FLOP/s" : "B/s   ", 100.0 * std::max(by_gemm, by_copy) / row.seconds,
                    gemm ? "GEMM" : "copy");
      rate = text;
    }
    add(name, seconds, row.calls / steps, rate);
  }
  add("the rest", step_seconds - listed, 0, "");
  return lines;
}

double measure_copy_rate() {
  const Index size = Index{128} << 20;  // bytes, past every cache
  const Buffer<unsigned char> from("Lexikos::region_table::from", size),
      to("Lexikos::region_table::to", size);
  const ExecSpace space;
  double fastest = std::numeric_limits<double>::infinity();
  const auto* const a = reinterpret_cast<const float*>(from.data());
  auto* const b = reinterpret_cast<float*>(to.data());
  for (int i = 0; i < 6; ++i) {
    space.fence();
    const Kokkos::Timer timer;
    for_each(
        "Lexikos::region_table::copy", space, size / Index(sizeof(float)),
        KOKKOS_LAMBDA(const Index j) { b[j] = a[j]; });
    space.fence();
    if (i > 0) fastest = std::min(fastest, timer.seconds());
  }
  return 2.0 * static_cast<double>(size) / fastest;
}

}  // namespace lexikos

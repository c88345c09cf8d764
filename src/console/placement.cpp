#include "console/placement.hpp"

#include <sched.h>
#include <unistd.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "console/configuration.hpp"
#include "console/output.hpp"
#include "utils/paths.hpp"

namespace lexikos {
namespace {

constexpr std::size_t most_lines = 16;

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  const std::string whole(name);
  return whole.substr(0, whole.find('.'));
}

/// An address that every rank on this device finds, whatever number the device has for each.
std::string device_address() {
#if defined(KOKKOS_ENABLE_CUDA)
  int device = 0;
  char address[32] = "unknown";
  if (cudaGetDevice(&device) == cudaSuccess) {
    cudaDeviceGetPCIBusId(address, sizeof address, device);
  }
  return address;
#elif defined(KOKKOS_ENABLE_HIP)
  int device = 0;
  char address[32] = "unknown";
  if (hipGetDevice(&device) == hipSuccess &&
      hipDeviceGetPCIBusId(address, sizeof address, device) != hipSuccess) {
    return "unknown";
  }
  return address;
#else
  return "";
#endif
}

/// "0-3,8" of ascending numbers; "?" of none.
std::string range_text(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (last > i) text += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text.empty() ? "?" : text;
}

/// Travels between ranks as a line of words.
std::string packed(const Placement& p) {
  std::ostringstream out;
  out << p.host << ' ' << (p.device.empty() ? "-" : p.device) << ' ' << p.threads;
  for (const int core : p.cores) out << ' ' << core;
  return out.str();
}

Placement unpacked(const std::string& text) {
  std::istringstream in(text);
  Placement p;
  in >> p.host >> p.device >> p.threads;
  if (p.device == "-") p.device.clear();
  for (int core = 0; in >> core;) p.cores.push_back(core);
  return p;
}

/// No longer than its column.
std::string fitted(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

std::string line(const std::string& ranks, const std::string& host, const std::string& device,
                 const std::string& threads, const std::string& cores) {
  char text[128];
  std::snprintf(text, sizeof text, "%-13s %-18s %-14s %8s  %s", fitted(ranks, 13).c_str(),
                fitted(host, 18).c_str(), fitted(device, 14).c_str(), threads.c_str(),
                fitted(cores, 22).c_str());
  std::string whole(text);
  whole.erase(whole.find_last_not_of(' ') + 1);
  return whole + "\n";
}

/// Ranks [begin, end), neighbours on one host.
std::string host_line(const std::vector<Placement>& ranks, std::size_t begin, std::size_t end) {
  std::set<std::string> devices;
  std::set<int> cores;
  int threads = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (!ranks[i].device.empty()) devices.insert(ranks[i].device);
    cores.insert(ranks[i].cores.begin(), ranks[i].cores.end());
    threads = std::max(threads, ranks[i].threads);
  }
  std::vector<int> numbers;
  for (std::size_t i = begin; i < end; ++i) numbers.push_back(static_cast<int>(i));
  const std::string device = devices.empty()       ? "host"
                             : devices.size() == 1 ? *devices.begin()
                                                   : std::to_string(devices.size()) + " devices";
  return line(range_text(numbers), ranks[begin].host, device, std::to_string(threads),
              range_text({cores.begin(), cores.end()}));
}

/// "ranks 0-2,5 on node7" of each host, at most three of them.
std::string where(const std::vector<Placement>& ranks, const std::vector<int>& which) {
  std::map<std::string, std::vector<int>> by_host;
  for (const int rank : which) by_host[ranks[rank].host].push_back(rank);
  std::string text;
  std::size_t hosts = 0;
  for (const auto& [host, numbers] : by_host) {
    if (hosts++ == 3)
      return text + ", and on " + std::to_string(by_host.size() - 3) + " hosts more";
    text += (text.empty() ? "" : ", ") + std::string(numbers.size() == 1 ? "rank " : "ranks ") +
            range_text(numbers) + " on " + host;
  }
  return text;
}

}  // namespace

Cores allowed_cores() {
  std::set<int> cores;
  for (const std::filesystem::path& thread : entries_of("/proc/self/task")) {
    cpu_set_t masks[16];  // 16,384 cores: a single one holds fewer than large hosts have
    CPU_ZERO_S(sizeof masks, masks);
    const pid_t id = std::atoi(thread.filename().c_str());
    if (sched_getaffinity(id, sizeof masks, masks) != 0) continue;  // it has ended
    for (int core = 0; core < static_cast<int>(8 * sizeof masks); ++core) {
      if (CPU_ISSET_S(core, sizeof masks, masks)) cores.insert(core);
    }
  }
  return {cores.begin(), cores.end()};
}

std::string placement_table(const std::vector<Placement>& ranks) {
  std::string text = line("ranks", "host", "device", "threads", "cores");
  const bool by_host = ranks.size() > most_lines;
  std::size_t lines = 0, hidden = 0;
  for (std::size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
    end = begin + 1;
    while (by_host && end < ranks.size() && ranks[end].host == ranks[begin].host) ++end;
    if (++lines > most_lines) {
      ++hidden;
    } else {
      text += host_line(ranks, begin, end);
    }
  }
  if (hidden > 0) text += "and " + std::to_string(hidden) + " lines more\n";
  return text;
}

std::vector<std::string> placement_warnings(const std::vector<Placement>& ranks) {
  std::vector<std::string> warnings;
  std::map<std::pair<std::string, std::string>, std::vector<int>> users;
  std::map<std::pair<int, int>, std::vector<int>> crowded;  // by threads and cores
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Placement& p = ranks[i];
    const int rank = static_cast<int>(i), cores = static_cast<int>(p.cores.size());
    if (!p.device.empty()) users[{p.host, p.device}].push_back(rank);
    if (cores > 0 && cores < p.threads) crowded[{p.threads, cores}].push_back(rank);
  }
  std::vector<int> sharing;
  for (const auto& [device, who] : users) {
    if (who.size() > 1) sharing.insert(sharing.end(), who.begin(), who.end());
  }
  std::sort(sharing.begin(), sharing.end());
  if (!sharing.empty()) {
    warnings.push_back("warning: several ranks share a device (" + where(ranks, sharing) +
                       "); start one rank a device, for instance with srun --gpus-per-task=1");
  }
  for (const auto& [numbers, who] : crowded) {
    const auto& [threads, cores] = numbers;
    warnings.push_back("warning: " + std::to_string(threads) + " threads share " +
                       std::to_string(cores) + (cores == 1 ? " core (" : " cores (") +
                       where(ranks, who) +
                       "); start with `mpirun --bind-to none` or fewer OMP_NUM_THREADS");
  }
  return warnings;
}

void report_placement(const Communicator& world, bool with_table) {
  std::vector<Placement> ranks;
  for (const std::string& text :
       world.gather(packed({host_name(), device_address(), host_threads(), allowed_cores()}))) {
    ranks.push_back(unpacked(text));
  }
  if (!world.is_root()) return;
  if (with_table) write_output(placement_table(ranks));
  for (const std::string& warning : placement_warnings(ranks)) {
    std::fprintf(stderr, "%s\n", warning.c_str());
  }
}

}  // namespace lexikos

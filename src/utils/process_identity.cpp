#include "utils/process_identity.hpp"

#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <random>
#include <sstream>

namespace lexikos {
namespace {

using Field = std::string ProcessIdentity::*;
constexpr std::pair<const char*, Field> fields[] = {
    {"host", &ProcessIdentity::host},   {"process", &ProcessIdentity::process},
    {"start", &ProcessIdentity::start}, {"boot", &ProcessIdentity::boot},
    {"space", &ProcessIdentity::space}, {"since", &ProcessIdentity::since},
    {"mark", &ProcessIdentity::mark},
};

std::string first_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

struct Stat {
  char state = 0;
  std::string start;
};

/// /proc/<process>/stat; nothing where there is none. The name in it may hold anything, so what
/// follows is counted from its closing bracket: state is field 3, start field 22.
std::optional<Stat> stat_of(const std::string& process) {
  const std::string line = first_line("/proc/" + process + "/stat");
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(line.substr(name_end + 1));
  Stat stat;
  rest >> stat.state;
  for (int field = 4; field <= 22; ++field) rest >> stat.start;
  return stat;
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

std::string space_of_numbers() {
  char name[64] = "";
  return readlink("/proc/self/ns/pid", name, sizeof name - 1) > 0 ? name : "";
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  char text[64] = "";
  if (gmtime_r(&now, &parts) != nullptr) {
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  }
  return text;
}

}  // namespace

ProcessIdentity ProcessIdentity::own() {
  ProcessIdentity own;
  own.host = host_name();
  own.process = std::to_string(getpid());
  if (const auto stat = stat_of("self")) own.start = stat->start;
  own.boot = first_line("/proc/sys/kernel/random/boot_id");
  own.space = space_of_numbers();
  own.since = now_text();
  std::random_device random;
  own.mark = std::to_string(random()) + "-" + std::to_string(random());
  return own;
}

std::string ProcessIdentity::text() const {
  std::string text;
  for (const auto& [name, field] : fields) text += std::string(name) + "=" + this->*field + "\n";
  return text;
}

ProcessIdentity ProcessIdentity::from(const std::string& text) {
  ProcessIdentity identity;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    for (const auto& [name, field] : fields) {
      const std::string begin = std::string(name) + "=";
      if (line.starts_with(begin)) identity.*field = line.substr(begin.size());
    }
  }
  return identity;
}

std::optional<bool> ProcessIdentity::lives() const {
  const bool known = !boot.empty() && !space.empty() && !start.empty();
  if (!known || boot != first_line("/proc/sys/kernel/random/boot_id") ||
      space != space_of_numbers()) {
    return std::nullopt;
  }
  if (const auto stat = stat_of(process)) {
    return stat->start == start && stat->state != 'Z' && stat->state != 'X';
  }
  // Another user's processes may be hidden from /proc, but not from kill().
  const bool there = kill(static_cast<pid_t>(std::atol(process.c_str())), 0) == 0 || errno == EPERM;
  if (there) return std::nullopt;
  return false;
}

}  // namespace lexikos

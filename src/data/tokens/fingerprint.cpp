#include "data/tokens/fingerprint.hpp"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "kokkos_types.hpp"
#include "utils/crc64.hpp"
#include "utils/mapped_file.hpp"

namespace lexikos {

namespace {

constexpr std::uint64_t edge_bytes = 1 << 16;
constexpr std::uint64_t block_bytes = 1 << 12;
constexpr std::size_t blocks_of_all = 4096;

std::uint64_t checksum(const MappedFile& file, std::uint64_t blocks) {
  const std::uint64_t size = file.size();
  if (size <= 2 * edge_bytes + blocks * block_bytes) return crc64(file.data(), size);
  std::uint64_t sum = crc64(file.data(), edge_bytes);
  const std::uint64_t stride = (size - 2 * edge_bytes - block_bytes) / blocks;
  for (std::uint64_t i = 0; i < blocks; ++i) {
    sum = crc64(file.data() + edge_bytes + i * stride, block_bytes, sum);
  }
  return crc64(file.data() + size - edge_bytes, edge_bytes, sum);
}

struct Line {
  std::string role, bytes, sum, path;
};

std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> lines;
  std::istringstream all(text);
  for (std::string one; std::getline(all, one);) {
    std::istringstream words(one);
    Line line;
    words >> line.role >> line.bytes >> line.sum >> std::ws;
    std::getline(words, line.path);
    lines.push_back(line);
  }
  return lines;
}

}  // namespace

std::string fingerprint_of(const std::vector<RoleFile>& files) {
  if (files.empty()) return "";
  const std::size_t blocks = std::clamp<std::size_t>(blocks_of_all / files.size(), 2, 64);
  std::string text;
  for (const RoleFile& one : files) {
    const MappedFile file(one.path);
    char sum[17];
    std::snprintf(sum, sizeof sum, "%016llx",
                  static_cast<unsigned long long>(checksum(file, blocks)));
    text += one.role + " " + std::to_string(file.size()) + " " + sum + " " + one.path + "\n";
  }
  return text;
}

std::string fingerprint_difference(const std::string& before, const std::string& now) {
  const std::vector<Line> then = lines_of(before), here = lines_of(now);
  for (std::size_t i = 0; i < std::min(then.size(), here.size()); ++i) {
    const Line &a = then[i], &b = here[i];
    const std::string was = " (" + a.role + ", '" + a.path + "' then)";
    if (a.role != b.role) return "'" + b.path + "' is " + b.role + " and stood elsewhere" + was;
    if (a.bytes != b.bytes) {
      return "'" + b.path + "' has " + b.bytes + " bytes and had " + a.bytes + was;
    }
    if (a.sum != b.sum) return "the contents of '" + b.path + "' differ" + was;
  }
  if (then.size() > here.size()) {
    return "'" + then[here.size()].path + "' (" + then[here.size()].role + ") is no more read";
  }
  if (then.size() < here.size()) {
    return "'" + here[then.size()].path + "' (" + here[then.size()].role + ") is new";
  }
  return "";
}

}  // namespace lexikos

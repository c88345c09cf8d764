// Every reader on its seeds, its stored cases and a fixed number of mutants, without libFuzzer.
// README.md says how it is used.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "fuzz/hdf5_edits.hpp"
#include "fuzz/mutate.hpp"
#include "fuzz/named_reader.hpp"
#include "fuzz/reader.hpp"
#include "hdf5/probe.hpp"

// A part of the sanitizer's interface; its header is not installed beside every compiler.
#if defined(__SANITIZE_ADDRESS__)
extern "C" std::size_t __sanitizer_get_allocated_size(const volatile void* memory);
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_allocation)(const volatile void*,
                                                                               std::size_t),
                                                         void (*on_free)(const volatile void*));
#endif

namespace lexikos::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr unsigned longest_seconds = 10;
constexpr std::uint64_t most_memory = std::uint64_t{1} << 30;
constexpr int most_findings = 5;  // of one reader

struct Options {
  fs::path home;   ///< has seeds/, cases/ and dictionaries/
  fs::path found;  ///< where inputs go that are findings
  std::uint64_t mutants = 1000, first = 0;
  bool door = false;  ///< files are looked at by another process before they are opened
  std::vector<std::string> readers;  ///< empty: all
  std::vector<std::string> files;    ///< instead of all other inputs
};

// ---- memory: what an input may take at most
// -------------------------------------------------------

#if defined(__SANITIZE_ADDRESS__)
std::uint64_t live_bytes = 0;

void on_allocation(const volatile void*, std::size_t size) {
  live_bytes += size;
  if (live_bytes < most_memory) return;
  constexpr char text[] = "finding: more than 1 GiB of memory\n";
  [[maybe_unused]] const auto ignored = write(STDERR_FILENO, text, sizeof text - 1);
  std::abort();
}

void on_free(const volatile void* memory) {
  if (memory != nullptr) live_bytes -= __sanitizer_get_allocated_size(memory);
}

void limit_memory() { __sanitizer_install_malloc_and_free_hooks(on_allocation, on_free); }
#else
void limit_memory() {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = most_memory + (std::uint64_t{1} << 28);  // the program itself
  setrlimit(RLIMIT_AS, &limit);
}
#endif

// ---- inputs
// ---------------------------------------------------------------------------------------

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// The inputs of one reader, by number: files first, then mutants of them.
class Inputs {
 public:
  Inputs(const Options& options, const NamedReader& named)
      : first_(options.first), mutants_(options.files.empty() ? options.mutants / named.share : 0) {
    const std::string reader = named.name;
    files_.assign(options.files.begin(), options.files.end());
    if (!options.files.empty()) return;
    for (const char* kind : {"seeds", "cases"}) {
      for (const fs::path& path : files_of(options.home / kind / reader)) files_.push_back(path);
    }
    for (const fs::path& path : files_) stock_.seeds.push_back(bytes_of(path));
    if (stock_.seeds.empty()) stock_.seeds.emplace_back();
    stock_.words = dictionary(bytes_of(options.home / "dictionaries" / (reader + ".txt")));
  }

  [[nodiscard]] std::uint64_t count() const { return files_.size() + mutants_; }
  [[nodiscard]] bool is_file(std::uint64_t i) const { return i < files_.size(); }
  [[nodiscard]] std::string bytes(std::uint64_t i) const {
    return is_file(i) ? bytes_of(files_[i]) : mutant(stock_, first_ + i - files_.size());
  }
  [[nodiscard]] std::string name(std::uint64_t i) const {
    return is_file(i) ? files_[i].string() : "mutant " + std::to_string(first_ + i - files_.size());
  }

 private:
  std::uint64_t first_, mutants_;
  std::vector<fs::path> files_;
  Stock stock_;
};

// ---- one reader, in processes of its own
// -------------------------------------------------------------

/// What a process that reads inputs tells the one that waits for it.
struct Progress {
  std::uint64_t at;  ///< the input being read
  Counts counts;
};

Progress* shared_progress() {
  void* memory =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) finding("no shared memory");
  return new (memory) Progress{};
}

/// Ends this process after so many seconds of computing, or of waiting twelve times as long: a
/// machine that does something else besides is no finding. 0: never.
void watch(unsigned seconds) {
  const itimerval computing{{0, 0}, {static_cast<time_t>(seconds), 0}};
  setitimer(ITIMER_PROF, &computing, nullptr);
  alarm(12 * seconds);
}

[[noreturn]] void read_from(const NamedReader& reader, const Inputs& inputs, std::uint64_t begin,
                            Progress& progress) {
  limit_memory();
  for (std::uint64_t i = begin; i < inputs.count(); ++i) {
    progress.at = i;
    const std::string input = inputs.bytes(i);
    // A copy of exactly its size, for the sanitizer to see a byte too many.
    const std::vector<std::uint8_t> bytes(input.begin(), input.end());
    watch(longest_seconds);
    reader.one_input(bytes.data(), bytes.size());
    watch(0);
    progress.counts = counts();
  }
  std::error_code ignored;
  fs::remove_all(folder(), ignored);
  _exit(0);
}

std::string ending(int status) {
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM)) {
    return "took more than " + std::to_string(longest_seconds) + " s";
  }
  if (WIFSIGNALED(status)) return std::string("ended by ") + strsignal(WTERMSIG(status));
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

/// A name made of the bytes, so that the same input is stored once.
std::string store(const Options& options, const std::string& reader, const std::string& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  char name[24];
  std::snprintf(name, sizeof name, "%016llx", static_cast<unsigned long long>(hash));
  const fs::path path = options.found / reader / name;
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  std::ofstream(path, std::ios::binary) << bytes;
  return path.string();
}

/// The stored cases that are known to fail still.
std::set<std::string> known_cases(const Options& options) {
  std::set<std::string> known;
  std::ifstream list(options.home / "cases" / "known.txt");
  for (std::string line; std::getline(list, line);) {
    if (!line.empty() && line[0] != '#') known.insert(line.substr(0, line.find(' ')));
  }
  return known;
}

/// Runs a reader on all its inputs, in a new process after each that is a finding; how many were.
int run(const Options& options, const NamedReader& reader) {
  const Inputs inputs(options, reader);
  const std::set<std::string> known = known_cases(options);
  Progress& progress = *shared_progress();
  Counts before;
  int findings = 0;
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t next = 0; next < inputs.count() && findings < most_findings;) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) read_from(reader, inputs, next, progress);
    int status = 0;
    waitpid(child, &status, 0);
    before.accepted += progress.counts.accepted;
    before.refused += progress.counts.refused;
    progress.counts = {};
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
    next = progress.at + 1;
    const fs::path path = inputs.name(progress.at);
    if (known.count(std::string(reader.name) + "/" + path.filename().string()) > 0) {
      std::printf("%s: known: %s %s\n", reader.name, path.c_str(), ending(status).c_str());
      continue;
    }
    ++findings;
    std::printf("%s: %s %s\n", reader.name, path.c_str(), ending(status).c_str());
    if (!inputs.is_file(progress.at)) {
      const std::string kept = store(options, reader.name, inputs.bytes(progress.at));
      std::printf("    stored as %s\n", kept.c_str());
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%-20s %8llu %9llu %8llu %9d %8.1f\n", reader.name,
              static_cast<unsigned long long>(inputs.count()),
              static_cast<unsigned long long>(before.accepted),
              static_cast<unsigned long long>(before.refused), findings, seconds.count());
  std::fflush(stdout);
  return findings;
}

// ---- command line
// -----------------------------------------------------------------------------------

constexpr const char* usage =
    "usage: fuzz HOME [--mutants N] [--first N] [--found FOLDER] [--door] [--reader NAME]... "
    "[-- FILE...]\n";

bool parse(int argc, char** argv, Options& options) {
  if (argc < 2) return false;
  options.home = argv[1];
  options.found = "fuzz_found";
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") {
      options.files.assign(argv + i + 1, argv + argc);
      return true;
    }
    if (word == "--door") {
      options.door = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const std::string value = argv[++i];
    if (word == "--mutants") {
      options.mutants = std::stoull(value);
    } else if (word == "--first") {
      options.first = std::stoull(value);
    } else if (word == "--found") {
      options.found = value;
    } else if (word == "--reader") {
      options.readers.push_back(value);
    } else {
      return false;
    }
  }
  return true;
}

bool wanted(const Options& options, const std::string& name) {
  const auto& list = options.readers;
  return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace
}  // namespace lexikos::fuzz

#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() {
  return "abort_on_error=1:detect_leaks=0:max_allocation_size_mb=1024";
}
extern "C" const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }
#endif

int main(int argc, char** argv) {
  using namespace lexikos::fuzz;
  const bool looks = argc == 3 && std::string(argv[1]).rfind("--lexikos-", 0) == 0;
  if (looks) lexikos::serve_probe(argc, argv);  // does not return
  Options options;
  if (!parse(argc, argv, options)) {
    std::fputs(usage, stderr);
    return 2;
  }
  if (options.door) lexikos::serve_probe(0, nullptr);
  through_door() = options.door;
  std::printf("%-20s %8s %9s %8s %9s %8s\n", "reader", "inputs", "accepted", "refused", "findings",
              "seconds");
  int findings = 0, ran = 0;
  for (const NamedReader& reader : named_readers()) {
    if (!wanted(options, reader.name)) continue;
    findings += run(options, reader);
    ++ran;
  }
  std::printf("%d readers, %d findings\n", ran, findings);
  return findings == 0 && ran > 0 ? 0 : 1;
}

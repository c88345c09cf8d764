#include "deck/arguments.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "deck/node.hpp"
#include "utils/error.hpp"
#include "utils/paths.hpp"
#include "utils/text.hpp"

namespace lexikos {

namespace {

[[noreturn]] void fail_usage(const std::string& what) {
  fail(Status::deck, "command line: " + what + "; see lexikos -h");
}

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// Seconds of "hh:mm:ss", hours being one to five digits. Batch systems write days or bare minutes
/// as well, each in its own way, so nothing else is guessed at.
std::int64_t wall_seconds(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  const bool three = parts.size() == 3 && std::all_of(parts.begin(), parts.end(), is_number);
  const bool widths = three && parts[0].size() <= 5 && parts[1].size() == 2 && parts[2].size() == 2;
  if (!widths || std::stoi(parts[1]) > 59 || std::stoi(parts[2]) > 59) {
    fail_usage("-t takes hh:mm:ss (01:30:00 is an hour and a half), not '" + text + "'");
  }
  const std::int64_t seconds =
      std::stoll(parts[0]) * 3600 + std::stoll(parts[1]) * 60 + std::stoll(parts[2]);
  if (seconds == 0) fail_usage("-t 0 leaves no time to run");
  return seconds;
}

class Parser {
 public:
  Parser(int argc, const char* const* argv) : words_(argv + std::min(argc, 1), argv + argc) {}

  Arguments parse() {
    while (next_ < words_.size()) take(words_[next_++]);
    if (result_.deck.empty() && !result_.only_prints()) fail_usage("no deck: give one with -i");
    return std::move(result_);
  }

 private:
  void take(const std::string& word) {
    if (word.starts_with(kokkos_prefix)) return;
    if (take_switch(word) || take_flag(word)) return;
    if (!word.empty() && word[0] == '-') fail_unknown_flag(word);
    if (word.find('=') == std::string::npos) {
      fail_usage("unknown argument '" + word +
                 "': a deck is given with -i, a key with table.key=value");
    }
    take_override(word);
  }

  bool take_switch(const std::string& word) {
    bool* on = nullptr;
    if (word == "-n") on = &result_.dry_run;
    if (word == "-c") on = &result_.show_config;
    if (word == "-k") on = &result_.show_keys;
    if (word == "-h" || word == "--help") on = &result_.show_help;
    if (word == "--version") on = &result_.show_version;
    if (on != nullptr) *on = true;
    return on != nullptr;
  }

  bool take_flag(const std::string& word) {
    if (word == "-i") {
      set(result_.deck, word, "a deck");
      to_path(result_.deck, word, usable_name);
    } else if (word == "-r") {
      set(result_.restart, word, "a checkpoint file or 'latest'");
      if (result_.restart != "latest") to_path(result_.restart, word, usable_path);
    } else if (word == "-d") {
      set(result_.outdir, word, "a folder");
      to_path(result_.outdir, word, usable_path);
    } else if (word == "-t") {
      set(wall_text_, word, "hh:mm:ss");
      result_.wall_limit = wall_seconds(wall_text_);
    } else {
      return false;
    }
    return true;
  }

  void set(std::string& target, const std::string& flag, const std::string& what) {
    if (!target.empty()) fail_usage(flag + " is given twice");
    const bool there = next_ < words_.size() && !words_[next_].empty() && words_[next_][0] != '-';
    if (!there) fail_usage(flag + " needs " + what + " after it");
    target = words_[next_++];
  }

  static void to_path(std::string& text, const std::string& flag,
                      std::string (*usable)(const std::string&)) {
    try {
      text = usable(text);
    } catch (const Error& error) {
      fail(error.status(), "command line: " + flag + " " + error.what());
    }
  }

  [[noreturn]] static void fail_unknown_flag(const std::string& word) {
    constexpr std::string_view with_value = "irdt";
    const bool attached = word.size() > 2 && with_value.find(word[1]) != std::string_view::npos;
    const std::string value = word.substr(std::min(word.size(), word.find_first_not_of('=', 2)));
    const std::string hint =
        attached && !value.empty() ? ": write " + word.substr(0, 2) + " " + value : std::string();
    fail_usage("unknown argument '" + word + "'" + hint);
  }

  /// The value is the deck's business; here only the form is.
  void take_override(const std::string& word) {
    std::string key = word.substr(0, word.find('='));
    if (!is_dotted_key(key)) {
      std::replace(key.begin(), key.end(), '/', '.');
      const bool slashes = is_dotted_key(key);
      fail_usage("'" + word + "' is not of the form table.key=value" +
                 (slashes ? ": write " + key + word.substr(word.find('=')) : ""));
    }
    result_.overrides.push_back(word);
  }

  std::vector<std::string> words_;
  std::size_t next_ = 0;
  std::string wall_text_;
  Arguments result_;
};

}  // namespace

Arguments parse_arguments(int argc, const char* const* argv) { return Parser(argc, argv).parse(); }

std::string usage() {
  return R"(Lexikos trains language models under different input interfaces.

usage: lexikos -i deck.toml [flags] [table.key=value ...]

  -i deck      TOML file that describes the run (inputs/ has many)
  -r restart   continue from a checkpoint file, or from the newest: -r latest
  -d outdir    folder for all output
  -t hh:mm:ss  wall limit: write a checkpoint and stop in good time before
  -n           dry run: build everything, print the resolved deck and the
               parameter, FLOP and memory tables, exit without training
  -c           print versions, backends, devices and libraries, exit
  -k           print the reference of all deck keys as Markdown, exit
  -h, --help   print this, exit
  --version    print the version, exit
  --kokkos-... handed to Kokkos

  table.key=value sets a key of the deck, as in
      lexikos -i deck.toml -n embedding.interface=lev
  Paths in a deck are relative to the working directory.

exit status:
  0  finished, or stopped with a checkpoint (-t, a signal)
  2  deck or command line     3  files
  4  numerical failure        5  resources (memory, devices, ranks)
)";
}

}  // namespace lexikos

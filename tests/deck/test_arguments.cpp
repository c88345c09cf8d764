#include <cstdlib>
#include <initializer_list>

#include "deck/arguments.hpp"
#include "harness/catch.hpp"
#include "utils/error.hpp"
#include "utils/text.hpp"

using namespace lexikos;

namespace {

Arguments parse(std::initializer_list<const char*> words) {
  std::vector<const char*> argv = {"lexikos"};
  argv.insert(argv.end(), words);
  return parse_arguments(static_cast<int>(argv.size()), argv.data());
}

/// The message of the Error that parsing throws; "" if it throws none.
std::string complaint(std::initializer_list<const char*> words) {
  try {
    parse(words);
  } catch (const Error& error) {
    CHECK(error.status() == Status::deck);
    const std::string message = error.what();
    CHECK(message.find("; see lexikos -h") != std::string::npos);
    return message;
  }
  return "";
}

bool says(std::initializer_list<const char*> words, const std::string& part) {
  const std::string message = complaint(words);
  INFO(message);
  const bool found = message.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

}  // namespace

TEST_CASE("all flags and overrides are taken, in any order", "[arguments]") {
  const Arguments all = parse({"seed=2", "-n", "-d", "out", "-i", "deck.toml", "-r", "latest", "-t",
                               "01:30:05", "embedding.interface=lev", "a.b=x=y"});
  CHECK(all.deck == "deck.toml");
  CHECK(all.restart == "latest");
  CHECK(all.outdir == "out");
  CHECK(all.dry_run);
  CHECK_FALSE(all.show_config);
  CHECK(all.wall_limit == 5405);
  CHECK(all.overrides == std::vector<std::string>{"seed=2", "embedding.interface=lev", "a.b=x=y"});

  const Arguments least = parse({"-i", "deck.toml"});
  CHECK(least.restart.empty());
  CHECK(least.outdir.empty());
  CHECK_FALSE(least.dry_run);
  CHECK_FALSE(least.wall_limit.has_value());
  CHECK(least.overrides.empty());
}

TEST_CASE("what only prints needs no deck", "[arguments]") {
  CHECK(parse({"-c"}).show_config);
  CHECK(parse({"-k"}).show_keys);
  CHECK(parse({"-h"}).show_help);
  CHECK(parse({"--help"}).show_help);
  CHECK(parse({"--version"}).show_version);
  CHECK(parse({"-c"}).only_prints());
  CHECK_FALSE(parse({"-i", "x", "-n"}).only_prints());
  says({}, "no deck");
  says({"-n"}, "no deck");
  says({"-r", "latest"}, "no deck");
}

TEST_CASE("arguments that are not understood are errors", "[arguments]") {
  says({"-i", "x", "-q"}, "unknown argument '-q'");
  says({"-i", "x", "--dry-run"}, "unknown argument '--dry-run'");
  says({"deck.toml"}, "unknown argument 'deck.toml': a deck is given with -i");
  says({"-ideck"}, "unknown argument '-ideck': write -i deck");
  says({"-i", "x", "-t01:00:00"}, "write -t 01:00:00");
  says({"-i", "x", ""}, "unknown argument ''");
  says({"-i"}, "-i needs a deck");
  says({"-i", "-n"}, "-i needs a deck");
  says({"-i", "x", "-r"}, "-r needs a checkpoint file");
  says({"-i", "x", "-d", ""}, "-d needs a folder");
  says({"-i", "x", "-i", "y"}, "-i is given twice");
  says({"-i", "x", "a..b=1"}, "'a..b=1' is not of the form table.key=value");
  says({"-i", "x", "=1"}, "not of the form");
  says({"-i", "x", "embedding/interface=lev"}, "write embedding.interface=lev");
}

TEST_CASE("the wall limit is hh:mm:ss and nothing else", "[arguments]") {
  CHECK(parse({"-i", "x", "-t", "00:00:01"}).wall_limit == 1);
  CHECK(parse({"-i", "x", "-t", "100:00:00"}).wall_limit == 360000);
  for (const char* wrong :
       {"30:00", "90", "1:60:00", "1:0:00", "1:00:60", "1:0:0", "1-00:00:00", "a:00:00",
        "1:00:00:00", "01:00:0x", ":00:00", "+1:00:00", "999999:00:00"}) {
    says({"-i", "x", "-t", wrong}, "-t takes hh:mm:ss");
  }
  says({"-i", "x", "-t", "00:00:00"}, "no time");
}

TEST_CASE("arguments of Kokkos pass", "[arguments]") {
  const Arguments arguments = parse({"--kokkos-num-threads=2", "-i", "x"});
  CHECK(arguments.deck == "x");
  CHECK(arguments.overrides.empty());
}

TEST_CASE("the usage fits a terminal and names every flag and exit status", "[arguments]") {
  const std::string text = usage();
  for (const std::string& line : split(text, '\n')) CHECK(line.size() <= 80);
  for (const char* part : {"-i ", "-r ", "-d ", "-n ", "-c ", "-k ", "-t hh:mm:ss", "-h, --help",
                           "--version", "table.key=value", "exit status", "2 ", "3 ", "4 ", "5 "}) {
    INFO(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("a value that is joined to its flag is told apart", "[arguments]") {
  CHECK(says({"-i=deck.toml"}, "unknown argument '-i=deck.toml': write -i deck.toml;"));
  CHECK(says({"-ideck.toml"}, "write -i deck.toml;"));
  CHECK(says({"-i="}, "unknown argument '-i=';"));
}

TEST_CASE("paths of the command line are those that were meant", "[arguments]") {
  const char* home = std::getenv("HOME");
  if (home == nullptr) return;
  const Arguments all = parse({"-i", "~/deck.toml", "-d", "~/out", "-r", "~/c.h5"});
  CHECK(all.deck == std::string(home) + "/deck.toml");
  CHECK(all.outdir == std::string(home) + "/out");
  CHECK(all.restart == std::string(home) + "/c.h5");
  for (const char* flag : {"-i", "-d", "-r"}) {
    CHECK_THROWS_WITH(parse({"-i", "x", flag, "$HOME/x"}),
                      Catch::Contains("-i is given twice") || Catch::Contains("has a variable"));
  }
}

#include <set>

#include "deck/sweep.hpp"
#include "harness/catch.hpp"
#include "utils/error.hpp"

using namespace lexikos;

namespace {

SweepPlan plan_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return expand_sweep(Deck::from_string(text, "deck.toml", overrides));
}

std::vector<std::string> names(const SweepPlan& plan) {
  std::vector<std::string> all;
  for (const SweepMember& member : plan.members) all.push_back(member.name);
  return all;
}

std::string complaint(const std::string& text) {
  try {
    plan_of(text);
  } catch (const Error& error) {
    CHECK(error.status() == Status::deck);
    return error.what();
  }
  return "no error";
}

std::string interface_of(const Deck& deck) {
  return deck.table("embedding").text({.name = "interface"}, "tied");
}

const std::string two_axes = R"(
seed = 7
[sweep]
concurrent = 2
seed = [1, 2, 3]
embedding.interface = ["tied", "lev"]
)";

}  // namespace

TEST_CASE("a sweep is the product of its arrays in file order, the last the fastest", "[sweep]") {
  const SweepPlan plan = plan_of(two_axes);
  CHECK(plan.concurrent == 2);
  CHECK(names(plan) == std::vector<std::string>{"seed1-tied", "seed1-lev", "seed2-tied",
                                                "seed2-lev", "seed3-tied", "seed3-lev"});
  const SweepMember& member = plan.members[3];
  CHECK(member.settings == std::vector<std::pair<std::string, std::string>>{
                               {"seed", "2"}, {"embedding.interface", "lev"}});
  CHECK(member.deck.table("").integer({.name = "seed"}, 0) == 2);
  CHECK(interface_of(member.deck) == "lev");
  CHECK_NOTHROW(member.deck.check_all_read());
}

TEST_CASE("the order of the axes is that of the lines, also between tables", "[sweep]") {
  const std::string text = R"(
[sweep.optimizer]
rate = [0.001, 0.01]
[sweep]
seed = [1]
[sweep.embedding]
interface = ["lev"]
)";
  CHECK(names(plan_of(text)) ==
        std::vector<std::string>{"rate0.001-seed1-lev", "rate0.01-seed1-lev"});
  const SweepPlan dotted = plan_of("[sweep]\nb.x = [1]\na = [2]\nb.y = [3]\n");
  CHECK(names(dotted) == std::vector<std::string>{"x1-a2-y3"});
}

TEST_CASE("without arrays there is one member without a name", "[sweep]") {
  for (const char* text :
       {"seed = 7\n", "seed = 7\n[sweep]\n", "seed = 7\n[sweep]\nconcurrent = 3\n"}) {
    const SweepPlan plan = plan_of(text);
    REQUIRE(plan.members.size() == 1);
    const SweepMember& only = plan.members.front();
    CHECK(only.name.empty());
    CHECK(only.settings.empty());
    CHECK(only.deck.table("").integer({.name = "seed"}, 0) == 7);
    CHECK_FALSE(only.deck.has("sweep"));
    CHECK_NOTHROW(only.deck.check_all_read());
  }
}

TEST_CASE("members do not share read marks", "[sweep]") {
  const SweepPlan plan = plan_of("[sweep]\nseed = [1, 2]\n");
  plan.members[0].deck.table("").integer({.name = "seed"}, 0);
  CHECK_NOTHROW(plan.members[0].deck.check_all_read());
  CHECK_THROWS_AS(plan.members[1].deck.check_all_read(), Error);
}

TEST_CASE("names of members fit a folder", "[sweep]") {
  const SweepPlan plan = plan_of(R"(
[sweep]
data.tokens = ["../a b/x.h5"]
model.sizes = [[64, 128]]
model.bias = [true]
model.shift = [-1.5]
run.note = [""]
)");
  CHECK(names(plan) == std::vector<std::string>{"_._a_b_x.h5-sizes64_128-biastrue-shift-1.5-note"});
  CHECK(plan.members[0].settings[1].second == "[64, 128]");
}

TEST_CASE("mistakes in a sweep are named with their line", "[sweep]") {
  CHECK(complaint("[sweep]\nseed = []\n").find("deck.toml:2: sweep.seed is empty") == 0);
  CHECK(complaint("[sweep]\nseed = 3\n").find("deck.toml:2: sweep.seed is an integer (3)") == 0);
  CHECK(complaint("[sweep]\na.seed = [{x = 1}]\n")
            .find("deck.toml:2: sweep.a.seed contains a table") == 0);
  CHECK(complaint("[sweep]\nday = [2024-01-01]\n").find("contains a date") != std::string::npos);
  CHECK(complaint("[sweep]\nconcurrent = 0\nseed = [1]\n")
            .find("deck.toml:2: sweep.concurrent = 0 is out of range: must be") == 0);
  CHECK(complaint("[sweep]\nconcurrent = [1, 2]\n").find("an integer is expected") !=
        std::string::npos);
  CHECK(complaint("sweep = 1\n").find("a table is expected") != std::string::npos);

  const std::string same = complaint("[sweep]\nseed = [1, 2, 1]\n");
  INFO(same);
  CHECK(same.find("deck.toml:2: two members of [sweep] would have the name 'seed1'") == 0);
  CHECK(complaint("[sweep]\na = [\"x y\", \"x_y\"]\n").find("a=x y and a=x_y") !=
        std::string::npos);

  std::string large = "[sweep]\n";
  for (const char* key : {"a", "b", "c", "d", "e"}) {
    large += std::string(key) + " = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n";
  }
  CHECK(complaint(large).find("deck.toml:6: [sweep] has more than 10,000 members") == 0);
}

TEST_CASE("a sweep over a key that nobody reads is found in the member", "[sweep]") {
  const SweepPlan plan = plan_of("[embedding]\n[sweep]\nembedding.interfce = [\"lev\"]\n");
  interface_of(plan.members[0].deck);
  try {
    plan.members[0].deck.check_all_read();
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) ==
          "deck.toml:3: unknown key 'embedding.interfce'; did you mean 'embedding.interface'?");
  }
}

TEST_CASE("a member's deck overrules the deck, the command line the sweep", "[sweep]") {
  const SweepPlan given = plan_of("[embedding]\ninterface = \"tied\"\n",
                                  {"sweep.embedding.interface=[\"lev\", \"albert\"]"});
  CHECK(names(given) == std::vector<std::string>{"lev", "albert"});
  const SweepPlan replaced = plan_of("[sweep]\na = [1]\nb = [2]\n", {"sweep.a=[5]"});
  CHECK(names(replaced) == std::vector<std::string>{"a5-b2"});  // keeps its place
  CHECK(interface_of(given.members[1].deck) == "albert");
}

TEST_CASE("the keys of [sweep] are documented for whole and member", "[sweep]") {
  const Deck deck = Deck::from_string(two_axes, "deck.toml");
  const SweepPlan plan = expand_sweep(deck);
  for (const std::vector<KeyDoc>& keys : {deck.keys(), plan.members[0].deck.keys()}) {
    REQUIRE(keys.size() == 2);
    CHECK(keys[0].table == "sweep");
    std::set<std::string> found = {keys[0].name, keys[1].name};
    CHECK(found == std::set<std::string>{"concurrent", "<table>.<key>"});
  }
  CHECK(plan.members[0].deck.resolved().empty());  // a member's resolved deck is one run
}

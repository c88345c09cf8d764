#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "deck/deck.hpp"
#include "harness/catch.hpp"
#include "utils/error.hpp"

using namespace lexikos;

namespace {

using Strings = std::vector<std::string>;

Deck deck_of(const std::string& text, const Strings& overrides = {}) {
  return Deck::from_string(text, "deck.toml", overrides);
}

/// The message of the Error that `work` throws.
std::string complaint(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(error.status() == Status::deck);
    return error.what();
  }
  return "no error";
}

/// The message of reading the integer transformer.layers, at least 1, of a deck.
std::string layers_complaint(const std::string& text, const Strings& overrides = {}) {
  return complaint([&] {
    deck_of(text, overrides).table("transformer").integer({.name = "layers"}, 4, AtLeast(1));
  });
}

/// What the small readers below have read, as a package would.
void read_optimizer(const Deck& deck) {
  const DeckTable table = deck.table("optimizer");
  table.real({.name = "learning_rate"}, 1e-3, Above(0));
  table.integer({.name = "warmup_steps"}, 100, AtLeast(0));
  table.real({.name = "beta1"}, 0.9);
  table.real({.name = "beta2"}, 0.95);
}

std::string unknown_complaint(const std::string& text, const Strings& overrides = {}) {
  const Deck deck = deck_of(text, overrides);
  deck.table("").integer({.name = "seed"}, 1);
  read_optimizer(deck);
  deck.table("embedding").text({.name = "interface"}, "tied");
  deck.table("embedding.lev").integer({.name = "knots"}, 64);
  return complaint([&] { deck.check_all_read(); });
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every type is read, integers as reals too", "[deck]") {
  const Deck deck = deck_of(R"(
seed = 0xff
[a]
big = 1_711_376_384
rate = 6e-4
whole = 3
on = true
name = "quote \" slash \\ tab \t é"
sizes = [1, 2,
         3]
rates = [1, 2.5]
names = ["x", 'y']
[a.b.c]
deep = -1
)");
  CHECK(deck.table("").integer({.name = "seed"}, 0) == 255);
  const DeckTable a = deck.table("a");
  CHECK(a.integer({.name = "big"}, 0) == 1711376384);
  CHECK(a.real({.name = "rate"}, 0) == 6e-4);
  CHECK(a.real({.name = "whole"}, 0) == 3);
  CHECK(a.flag({.name = "on"}, false));
  CHECK(a.text({.name = "name"}, "") == "quote \" slash \\ tab \t é");
  CHECK(a.integers({.name = "sizes"}, {}) == std::vector<std::int64_t>{1, 2, 3});
  CHECK(a.reals({.name = "rates"}, {}) == std::vector<double>{1, 2.5});
  CHECK(a.texts({.name = "names"}, {}) == Strings{"x", "y"});
  CHECK(deck.table("a.b.c").integer({.name = "deep"}, 0) == -1);
  CHECK_NOTHROW(deck.check_all_read());
}

TEST_CASE("absent keys and tables take their defaults", "[deck]") {
  const Deck deck = deck_of("[transformer]\n");
  CHECK(deck.table("transformer").integer({.name = "layers"}, 4) == 4);
  const DeckTable absent = deck.table("no.such.table");
  CHECK(absent.integer({.name = "i"}, 7) == 7);
  CHECK(absent.real({.name = "r"}, 0.5) == 0.5);
  CHECK(absent.flag({.name = "f"}, true));
  CHECK(absent.text({.name = "t"}, "x") == "x");
  CHECK(absent.choice({.name = "c"}, "a", {"a", "b"}) == "a");
  CHECK(absent.reals({.name = "rs"}, {1.5}) == std::vector<double>{1.5});
  CHECK(absent.texts({.name = "ts"}, {"q"}) == Strings{"q"});
  CHECK_FALSE(absent.has("i"));
  CHECK(deck.has("transformer"));
  CHECK_FALSE(deck.has("transformer.layers"));
}

TEST_CASE("a value out of range is named with its place and the range", "[deck]") {
  CHECK(layers_complaint("\n[transformer]\nlayers = 0\n") ==
        "deck.toml:3: transformer.layers = 0 is out of range: must be at least 1");
  CHECK(layers_complaint("transformer.layers = 1") == "no error");
  CHECK(layers_complaint("", {"transformer.layers=-2"}) ==
        "command line: transformer.layers = -2 is out of range: must be at least 1");

  const auto real_complaint = [](const std::string& value, const Range& range) {
    return complaint([&] { deck_of("x = " + value).table("").real({.name = "x"}, 0.5, range); });
  };
  CHECK(contains(real_complaint("0.0", Above(0)), "x = 0.0 is out of range: must be above 0"));
  CHECK(contains(real_complaint("1", AtLeast(0) && Below(1)), "must be at least 0 and below 1"));
  CHECK(real_complaint("0", AtLeast(0) && Below(1)) == "no error");
  CHECK(contains(real_complaint("0", Above(0) && AtMost(1)), "must be above 0 and at most 1"));
  CHECK(real_complaint("1", Above(0) && AtMost(1)) == "no error");
  CHECK(real_complaint("1", Between(0, 1)) == "no error");
  CHECK(contains(real_complaint("1.5", Between(0.25, 1)), "must be between 0.25 and 1"));
  CHECK(contains(real_complaint("2", AtMost(1)), "must be at most 1"));
  // The narrower end holds, whichever side of && it stands on.
  CHECK((AtMost(1) && Below(1)).text() == "below 1");
  CHECK((Below(1) && AtMost(1)).text() == "below 1");
  CHECK((AtLeast(1) && Above(1)).text() == "above 1");
  CHECK((Between(0, 4) && AtLeast(2)).text() == "between 2 and 4");
  CHECK(contains(real_complaint("-1", AtLeast(0)), "must be at least 0"));
  CHECK(contains(real_complaint("nan", {}), "must be a number"));
  CHECK(contains(real_complaint("inf", Above(0)), "x = inf is out of range: must be above 0"));
  CHECK(contains(real_complaint("-inf", {}), "must be a number"));
  CHECK(Between(0, 0x1p31).text() == "between 0 and 2^31");
  CHECK(Between(1e-30, 1e12).text() == "between 1e-30 and 10^12");
  CHECK(Between(1, 4096).text() == "between 1 and 4096");
  CHECK(contains(real_complaint("inf", Below(9)), "x = inf is out of range"));
}

TEST_CASE("every element of a list is checked and named", "[deck]") {
  const Deck deck = deck_of("a = [4,\n 0]\nb = [1, \"x\"]\nc = 3\nd = [\"p\", \"q\"]\n");
  const DeckTable top = deck.table("");
  CHECK(complaint([&] { top.integers({.name = "a"}, {}, Above(0)); }) ==
        "deck.toml:2: a[1] = 0 is out of range: must be above 0");
  CHECK(complaint([&] { top.reals({.name = "b"}, {}); }) ==
        "deck.toml:3: b[1] is a string (\"x\"); a real number is expected");
  CHECK(complaint([&] { top.integers({.name = "c"}, {}); }) ==
        "deck.toml:4: c is an integer (3); an array of integers is expected");
  CHECK(complaint([&] {
          top.texts({.name = "d"}, {}, {"p", "r"});
        }) == "deck.toml:5: d[1] = \"q\" is not one of p, r");
}

TEST_CASE("a wrong type is named with what is there and what is expected", "[deck]") {
  CHECK(layers_complaint("[transformer]\nlayers = \"four\"\n") ==
        "deck.toml:2: transformer.layers is a string (\"four\"); an integer is expected");
  CHECK(layers_complaint("[transformer]\nlayers = 1e9\n") ==
        "deck.toml:2: transformer.layers is a real number (1e+09); an integer is expected: "
        "write 1000000000");
  CHECK(contains(layers_complaint("[transformer]\nlayers = 1.5\n"), "an integer is expected"));
  CHECK(layers_complaint("[transformer.layers]\n") ==
        "deck.toml:1: transformer.layers is a table; an integer is expected");
  CHECK(contains(layers_complaint("[[transformer.layers]]\n"), "is an array"));
  CHECK(layers_complaint("transformer = 3\n") ==
        "deck.toml:1: transformer is an integer (3); a table is expected, written [transformer]");

  const Deck deck = deck_of("n = 12\nf = \"yes\"\nt = 1979-05-27\n", {"m=12"});
  const DeckTable top = deck.table("");
  CHECK(complaint([&] { top.text({.name = "n"}, ""); }) ==
        "deck.toml:1: n is an integer (12); a string is expected: write \"12\"");
  CHECK(complaint([&] { top.text({.name = "m"}, ""); }) ==
        "command line: m is an integer (12); a string is expected: write '\"12\"'");
  CHECK(complaint([&] { top.flag({.name = "f"}, true); }) ==
        "deck.toml:2: f is a string (\"yes\"); a boolean is expected: write true or false");
  CHECK(complaint([&] { top.real({.name = "t"}, 0); }) ==
        "deck.toml:3: t is a date or time; a real number is expected");
}

TEST_CASE("a wrong choice lists the choices and the nearest", "[deck]") {
  const auto choose = [](const std::string& value) {
    return complaint([&] {
      deck_of("[embedding]\ninterface = \"" + value + "\"\n")
          .table("embedding")
          .choice({.name = "interface"}, "tied", {"tied", "untied", "lev"});
    });
  };
  CHECK(choose("lev") == "no error");
  CHECK(choose("lve") ==
        "deck.toml:2: embedding.interface = \"lve\" is not one of tied, untied, lev; "
        "did you mean \"lev\"?");
  CHECK(choose("albert") ==
        "deck.toml:2: embedding.interface = \"albert\" is not one of tied, untied, lev");
}

TEST_CASE("a required key that is missing is named with its meaning", "[deck]") {
  const Key tokens = {.name = "tokens", .doc = "file of token ids", .unit = "path"};
  CHECK(complaint([&] { deck_of("").table("data").text(tokens, required); }) ==
        "deck.toml: the key 'tokens' is required in [data] (text, in path; file of token ids)");
  CHECK(contains(complaint([&] { deck_of("").table("").integer({.name = "n"}, required); }),
                 "'n' is required in the top level (integer)"));
  // The typo is found although it is not yet known that nobody reads it.
  CHECK(contains(
      complaint([&] { deck_of("[data]\n\ntokns = \"x\"\n").table("data").text(tokens, required); }),
      "; is 'tokns' meant (deck.toml:3)?"));
  CHECK(deck_of("data.tokens = \"x\"").table("data").text(tokens, required) == "x");
  CHECK(deck_of("a = [1]").table("").integers({.name = "a"}, required).size() == 1);
  CHECK_THROWS_AS(deck_of("").table("").real({.name = "a"}, required), Error);
  CHECK_THROWS_AS(deck_of("").table("").flag({.name = "a"}, required), Error);
  CHECK_THROWS_AS(deck_of("").table("").choice({.name = "a"}, required, {"x"}), Error);
  CHECK_THROWS_AS(deck_of("").table("").reals({.name = "a"}, required), Error);
  CHECK_THROWS_AS(deck_of("").table("").texts({.name = "a"}, required), Error);
}

TEST_CASE("a default is checked like a value, since it may follow from others", "[deck]") {
  const auto top = [](const Deck& deck) { return deck.table(""); };
  const Deck deck = deck_of("");
  CHECK(complaint([&] { top(deck).integer({.name = "a"}, 0, Above(0)); }) ==
        "deck.toml: a = 0 (its default) is out of range: must be above 0");
  CHECK(contains(complaint([&] { top(deck).choice({.name = "b"}, "x", {"y"}); }),
                 "b = \"x\" (its default) is not one of y"));
  CHECK(contains(complaint([&] {
                   top(deck).reals({.name = "c"}, {1, -1}, Above(0));
                 }),
                 "c[1] = -1.0 (its default)"));
}

TEST_CASE("a key read twice is one key with one value", "[deck]") {
  const Deck deck = deck_of("a = 5\n");
  const DeckTable top = deck.table("");
  CHECK(top.integer({.name = "a"}, 1) == 5);
  CHECK(top.integer({.name = "a"}, 2) == 5);
  CHECK(top.integer({.name = "b"}, 3) == 3);
  CHECK(top.integer({.name = "b"}, 3) == 3);
  CHECK(deck.keys().size() == 2);
  CHECK(contains(complaint([&] { top.integer({.name = "b"}, 4); }),
                 "b was read with two defaults, 3 and 4"));
}

TEST_CASE("a reader can reject a value with its place", "[deck]") {
  const Deck deck = deck_of("[transformer]\n\nheads = 3\n");
  const DeckTable table = deck.table("transformer");
  table.integer({.name = "heads"}, 4);
  table.integer({.name = "width"}, 256);
  CHECK(complaint([&] { table.reject("heads", "does not divide width = 256"); }) ==
        "deck.toml:3: transformer.heads = 3 does not divide width = 256");
  CHECK(complaint([&] { table.reject("width", "is odd"); }) ==
        "deck.toml: transformer.width = 256 (its default) is odd");
}

TEST_CASE("a key nobody read is an error with file, line and the nearest key", "[deck]") {
  CHECK(unknown_complaint("seed = 2\n[optimizer]\nlearning_rate = 1\n") == "no error");
  CHECK(unknown_complaint("\n[optimizer]\nlearning_rat = 1\n") ==
        "deck.toml:3: unknown key 'optimizer.learning_rat'; "
        "did you mean 'optimizer.learning_rate'?");
  CHECK(unknown_complaint("optimizer.learnign_rate = 1\n") ==
        "deck.toml:1: unknown key 'optimizer.learnign_rate'; "
        "did you mean 'optimizer.learning_rate'?");
  CHECK(unknown_complaint("optimizer.beta_2 = 1\n") ==
        "deck.toml:1: unknown key 'optimizer.beta_2'; did you mean 'optimizer.beta2'?");
  CHECK(unknown_complaint("optimizer.warmup = 1\n") ==
        "deck.toml:1: unknown key 'optimizer.warmup'; did you mean 'optimizer.warmup_steps'?");
  // In the wrong table, with the right last component.
  CHECK(unknown_complaint("learning_rate = 1\n") ==
        "deck.toml:1: unknown key 'learning_rate'; did you mean 'optimizer.learning_rate'?");
  CHECK(unknown_complaint("embedding.knots = 8\n") ==
        "deck.toml:1: unknown key 'embedding.knots'; did you mean 'embedding.lev.knots'?");
  // Nothing is near.
  CHECK(unknown_complaint("[optimizer]\nnesterov = true\n") ==
        "deck.toml:2: unknown key 'optimizer.nesterov'; known keys of [optimizer]: "
        "learning_rate, warmup_steps, beta1, beta2");
  CHECK(unknown_complaint("verbosity = true\n") ==
        "deck.toml:1: unknown key 'verbosity'; known keys of the top level: seed");
}

TEST_CASE("a table nobody asked for is an error as a whole", "[deck]") {
  CHECK(unknown_complaint("[optimiser]\nlearning_rate = 1\nbeta1 = 2\n") ==
        "deck.toml:1: unknown table 'optimiser'; did you mean 'optimizer'?");
  CHECK(unknown_complaint("[embedding.lve]\n") ==
        "deck.toml:1: unknown table 'embedding.lve'; did you mean 'embedding.lev'?");
  CHECK(unknown_complaint("[train]\nlearning_rate = 1\n") ==
        "deck.toml:1: unknown table 'train' with 'learning_rate'; "
        "did you mean 'optimizer.learning_rate'?");
  CHECK(unknown_complaint("[zebra]\nstripes = 1\n") ==
        "deck.toml:1: unknown table 'zebra'; known tables: optimizer, embedding, embedding.lev");
  CHECK(unknown_complaint("[embedding]\n[embedding.lev]\n[optimizer]\n") == "no error");
  CHECK(contains(unknown_complaint("[[optimizer.beta]]\nx = 1\n"), "unknown key 'optimizer.beta'"));
}

TEST_CASE("of several unknown keys the first in the file is named, with their number", "[deck]") {
  CHECK(unknown_complaint("[optimizer]\nzz = 1\n[embedding]\nyy = 2\n[other]\n") ==
        "deck.toml:2: unknown key 'optimizer.zz'; known keys of [optimizer]: learning_rate, "
        "warmup_steps, beta1, beta2 (and 2 more unknown)");
  CHECK(contains(unknown_complaint("[embedding.lev]\nknot = 2\n[embedding]\ninterfac = 1\n"),
                 "deck.toml:2: unknown key 'embedding.lev.knot'"));
  CHECK(contains(unknown_complaint("sede = 1\n", {"optimizer.beta3=1"}),
                 "deck.toml:1: unknown key 'sede'; did you mean 'seed'? (and 1 more unknown)"));
}

TEST_CASE("overrides set, add and win in order", "[deck]") {
  const Deck deck = deck_of("[embedding]\ninterface = \"tied\"\n",
                            {"embedding.interface=untied", "embedding.interface=lev",
                             "embedding.lev.knots = 32", "new.deep.key=[1, 2]", "run.name=a b"});
  CHECK(deck.table("embedding").text({.name = "interface"}, "") == "lev");
  CHECK(deck.table("embedding.lev").integer({.name = "knots"}, 0) == 32);
  CHECK(deck.table("new.deep").integers({.name = "key"}, {}).size() == 2);
  CHECK(deck.table("run").text({.name = "name"}, "") == "a b");
  CHECK_NOTHROW(deck.check_all_read());
  CHECK(unknown_complaint("seed = 1\n", {"optimizer.learning_rat=1"}) ==
        "command line: unknown key 'optimizer.learning_rat'; "
        "did you mean 'optimizer.learning_rate'?");
}

TEST_CASE("an override is TOML, or else a bare string", "[deck]") {
  const auto text = [](const std::string& value) {
    return deck_of("", {"a=" + value}).table("").text({.name = "a"}, "");
  };
  CHECK(text("lev") == "lev");
  CHECK(text("\"12\"") == "12");
  CHECK(text("'x'") == "x");
  CHECK(text("\"\"").empty());
  CHECK(text("data/x.h5") == "data/x.h5");
  CHECK(text("1#2") == "1#2");  // no comment
  CHECK(text("x=y") == "x=y");
  CHECK(text("007") == "007");
  CHECK(text("1\nb = 2") == "1\nb = 2");  // not two keys
  CHECK(deck_of("", {"a=true"}).table("").flag({.name = "a"}, false));
  CHECK(deck_of("", {"a=-1e-3"}).table("").real({.name = "a"}, 0) == -1e-3);

  CHECK(complaint([] { deck_of("", {"a=[1, 2"}); }) == "command line: '[1, 2' is not a TOML value");
  CHECK(contains(complaint([] { deck_of("", {"a=\"x"}); }), "is not a TOML value"));
  CHECK(contains(complaint([] { deck_of("", {"a="}); }), "'a=' has no value"));
  CHECK(contains(complaint([] { deck_of("", {"a"}); }), "not of the form table.key=value"));
  CHECK(contains(complaint([] { deck_of("", {".a=1"}); }), "not of the form table.key=value"));
  CHECK(complaint([] { deck_of("\na = 3\n", {"a.b=1"}); }) ==
        "command line: cannot set a.b: a is an integer (3), not a table (deck.toml:2)");
  CHECK(contains(complaint([] { deck_of("[a]\nb = 3\n", {"a=1"}); }), "it is a table"));
}

TEST_CASE("what is not TOML is named with its line, on one line", "[deck]") {
  const auto syntax = [](const std::string& text) { return complaint([&] { deck_of(text); }); };
  const std::string bare = syntax("[embedding]\ninterface = lev\n");
  INFO(bare);
  CHECK(contains(bare, "deck.toml:2: not valid TOML: "));
  CHECK(contains(bare, "(in: interface = lev); a text must stand in double quotes"));
  CHECK_FALSE(contains(bare, "toml::"));
  CHECK_FALSE(contains(bare, "\n"));
  for (const char* text : {"\na = 1 2\n", "\na = \n", "\n[x\n", "\na = 'x\n", "\na\n",
                           "a = 1\na = 2\n", "[x]\n[x]\n", "\na = 1__2\n", "\na = 007\n"}) {
    const std::string message = syntax(text);
    INFO(message);
    CHECK(message.find("deck.toml:2: not valid TOML: ") == 0);
    CHECK(message.find("TOML:  ") == std::string::npos);
    CHECK_FALSE(contains(message, "toml::"));
  }
  // toml11 3.x would read these as the largest number there is.
  CHECK(contains(syntax("a = 99999999999999999999\n"), "deck.toml:1"));
  CHECK(contains(syntax("a = 1e400\n"), "deck.toml:1"));
  CHECK_NOTHROW(deck_of(""));
  CHECK_NOTHROW(deck_of("a = 1\r\nb = 2"));
}

TEST_CASE("a deck is read from its file", "[deck]") {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::temp_directory_path() / ("lexikos_deck_" + std::to_string(::getpid()));
  fs::create_directory(folder);
  const std::string path = (folder / "x.toml").string();
  std::ofstream(path) << "seed = 3\n[transformer]\nlayers = 0\n";
  CHECK(Deck::from_file(path, {"seed=4"}).table("").integer({.name = "seed"}, 0) == 4);
  CHECK(complaint([&] {
          Deck::from_file(path).table("transformer").integer({.name = "layers"}, 1, AtLeast(1));
        }) == path + ":3: transformer.layers = 0 is out of range: must be at least 1");
  std::ofstream(path) << "";
  CHECK_NOTHROW(Deck::from_file(path).check_all_read());
  CHECK(contains(complaint([&] { Deck::from_file(path + "x"); }), "x.tomlx' is not there"));
  CHECK(contains(complaint([&] { Deck::from_file(folder.string()); }), "' is a directory"));
  fs::remove_all(folder);
}

namespace {

/// Reads one key of each kind, as text for comparison.
std::string read_everything(const Deck& deck) {
  const DeckTable lev = deck.table("embedding.lev");
  const DeckTable top = deck.table("");
  const DeckTable embedding = deck.table("embedding");
  std::string all = toml_value(lev.integer({"knots", "knots per curve", "knots"}, 64, AtLeast(2)));
  all += toml_value(lev.real({"rate", "learning rate", "1/step"}, 1.0 / 3, Above(0)));
  all += toml_value(lev.reals({"scales"}, {1, 1e-8, 9.5}));
  all += toml_value(embedding.choice({"interface", "how a token enters"}, "tied", {"tied", "lev"}));
  all += toml_value(embedding.text({"note", "a\nb # c"}, "q\"\\\n\x01 é # no comment"));
  all += toml_value(embedding.texts({"tags"}, {"x", "y\tz"}));
  all += toml_value(top.integer({"seed", "of everything"}, 1));
  all += toml_value(top.flag({"fast"}, true));
  all += toml_value(top.integers({"sizes"}, {}));
  return all;
}

}  // namespace

TEST_CASE("the resolved deck is the deck with its defaults and comments", "[deck]") {
  const Deck deck = deck_of("[embedding.lev]\nknots = 8\n", {"seed=5"});
  read_everything(deck);
  CHECK(deck.resolved() == R"(seed = 5     # of everything
fast = true
sizes = []

[embedding.lev]
knots = 8                   # knots; at least 2; knots per curve
rate = 0.3333333333333333   # 1/step; above 0; learning rate
scales = [1.0, 1e-08, 9.5]

[embedding]
interface = "tied"                      # one of tied, lev; how a token enters
note = "q\"\\\n\u0001 é # no comment"  # a b # c
tags = ["x", "y\tz"]
)");
}

TEST_CASE("the resolved deck reads back to the same values", "[deck]") {
  const Deck first = deck_of("seed = 9\n[embedding.lev]\nrate = 0.1\nscales = [5e-324, -2]\n");
  const std::string values = read_everything(first);
  const Deck again = Deck::from_string(first.resolved(), "resolved");
  CHECK(read_everything(again) == values);
  CHECK_NOTHROW(again.check_all_read());
  CHECK(again.resolved() == first.resolved());
}

TEST_CASE("the key reference shows every key asked for", "[deck]") {
  const Deck deck = deck_of("");
  const DeckTable table = deck.table("model");
  table.integer({.name = "width", .doc = "of a | b", .unit = "channels"}, 64, Above(0));
  table.integer({.name = "inner", .doc = "inner width", .default_note = "4 width"}, 256);
  deck.table("").choice({.name = "mode", .doc = "of work"}, "a", {"a", "b"});
  const std::vector<KeyDoc> keys = deck.keys();
  REQUIRE(keys.size() == 3);
  CHECK(keys[0].table == "model");
  CHECK(keys[0].type == "integer");
  CHECK(keys[0].default_text == "64");
  CHECK(keys[0].range_text == "above 0");
  CHECK(keys[1].default_text == "4 width");
  CHECK(key_reference_markdown(keys) == R"(### Top level

| key | type | default | unit, range or choices | meaning |
|---|---|---|---|---|
| `mode` | text | "a" | one of a, b | of work |

### `[model]`

| key | type | default | unit, range or choices | meaning |
|---|---|---|---|---|
| `width` | integer | 64 | channels; above 0 | of a \| b |
| `inner` | integer | 4 width |  | inner width |
)");
}

TEST_CASE("a blank deck lets every reader run", "[deck]") {
  const Deck deck = Deck::blank();
  const DeckTable table = deck.table("data");
  CHECK(table.integer({.name = "a"}, required, AtLeast(3)) == 3);
  CHECK(table.integer({.name = "b"}, required, Above(2) && Below(5)) == 3);
  CHECK(table.integer({.name = "c"}, required, Below(-2)) == -3);
  const double real = table.real({.name = "d"}, required, Above(0) && Below(0.5));
  CHECK((real > 0 && real < 0.5));
  CHECK(table.choice({.name = "e"}, required, {"x", "y"}) == "x");
  CHECK(table.text({.name = "f"}, required).empty());
  CHECK(table.reals({.name = "g"}, required).empty());
  CHECK_FALSE(table.flag({.name = "h"}, required));
  CHECK(deck.keys().size() == 8);
  CHECK(deck.keys().front().default_text == "required");
}

TEST_CASE("an idle table is checked but not in force", "[deck]") {
  const Deck deck = deck_of("[embedding.lev]\nknots = 8\nknto = 1\n");
  const DeckTable idle = deck.idle_table("embedding.lev");
  CHECK(idle.integer({.name = "knots"}, 4, Above(0)) == 8);
  CHECK(idle.text({.name = "codes"}, required).empty());
  CHECK(deck.resolved().empty());
  CHECK(deck.keys().size() == 2);
  CHECK(contains(complaint([&] { deck.check_all_read(); }), "unknown key 'embedding.lev.knto'"));
  CHECK(
      contains(complaint([&] { idle.integer({.name = "knots"}, 4, AtLeast(9)); }), "out of range"));
  deck.table("embedding.lev").integer({.name = "knots"}, 4);
  CHECK(contains(deck.resolved(), "knots = 8"));
}

TEST_CASE("copies have their own marks, and with and without change one thing", "[deck]") {
  const Deck deck = deck_of("[a]\nx = 1\ny = 2\n");
  const Deck before = deck;
  deck.table("a").integer({.name = "x"}, 0);
  deck.table("a").integer({.name = "y"}, 0);
  CHECK_NOTHROW(deck.check_all_read());
  CHECK_THROWS_AS(before.check_all_read(), Error);
  CHECK_NOTHROW(Deck(deck).check_all_read());

  const Deck changed = deck.with("a.x", "\"lev\"", {"sweep", 3});
  CHECK(changed.keys().empty());
  CHECK_THROWS_AS(changed.check_all_read(), Error);
  CHECK(changed.table("a").text({.name = "x"}, "") == "lev");
  CHECK(contains(complaint([&] { changed.table("a").integer({.name = "x"}, 0); }), "sweep:3: a.x"));
  CHECK(deck.table("a").integer({.name = "x"}, 0) == 1);
  CHECK(deck.with("b.z", "[1]").has("b.z"));
  CHECK(contains(complaint([&] { (void)deck.with("a.x", "lev"); }),
                 "program: 'lev' is not a TOML value"));

  const Deck unread = deck.without("a.x");
  (void)unread.table("a");  // y was read in `deck`, not here
  CHECK(contains(complaint([&] { unread.check_all_read(); }), "unknown key 'a.y'"));
  CHECK_FALSE(unread.has("a.x"));
  CHECK(deck.without("a.x").has("a.y"));
  CHECK_FALSE(deck.without("a").has("a.y"));
  CHECK_NOTHROW(deck.without("no.such"));
}

TEST_CASE("depth is bounded before the parser sees it, in values, keys and headers", "[deck]") {
  const auto deep = [](const std::string& open, std::size_t n, const std::string& close) {
    std::string text;
    for (std::size_t i = 0; i < n; ++i) text += open;
    text += "1";
    for (std::size_t i = 0; i < n; ++i) text += close;
    return text;
  };
  const std::string limit = "brackets or a dotted key more than 32 deep";
  for (const std::size_t n : {33, 20000}) {
    const std::string many = deep(".a", n, "");
    for (const std::string& text :
         {"\nx = " + deep("[", n, "]"), "\nx = " + deep("{a=", n, "}"),
          "\nx = " + deep("[{a=", n, "}]"), "\na" + many + " = 1", "\n[a" + many + "]",
          "\n[[a" + many + "]]", "\na" + deep(" . \"b.c\"", n, "") + " = 1"}) {
      CHECK(complaint([&] { deck_of(text); }) == "deck.toml:2: " + limit + "; no key of a deck is");
    }
    CHECK(contains(complaint([&] { deck_of("", {"x=" + deep("[", n, "]")}); }),
                   "command line: " + limit));
    CHECK(contains(complaint([&] { deck_of("", {"a" + many + "=1"}); }), limit));
  }
  CHECK_NOTHROW(deck_of("x = " + deep("[", 32, "]")));
  // What only looks deep.
  const std::string brackets(100, '[');
  CHECK_NOTHROW(deck_of("# " + brackets + "\na = \"\\\"" + brackets + "\"\nb = '" + brackets +
                        "'\nc = \"\"\"\n" + brackets + "\"\"\"\nd = '''\n" + brackets + "'''\n"));
  CHECK_NOTHROW(deck_of("", {"a=" + deep("../", 100, "")}));
}

TEST_CASE("long arrays are read at once, and their places stay true", "[deck]") {
  std::string text = "a = 1\nx = [0";
  for (int i = 1; i < 50000; ++i) text += ", " + std::to_string(i);
  text += "]\nb = 2\ny = z\n";
  CHECK(contains(complaint([&] { deck_of(text); }), "deck.toml:4: not valid TOML"));
  text.erase(text.size() - 6);
  const Deck deck = deck_of(text);
  const auto values = deck.table("").integers({.name = "x"}, {});
  CHECK(values.size() == 50000);
  CHECK(values.back() == 49999);
  CHECK(deck.root().child("x")->children.back().place.line == 2);
  CHECK(deck.root().child("b")->place.line == 3);
  CHECK(contains(complaint([] { deck_of("x = '" + std::string(20000, 'x') + "'"); }),
                 "deck.toml:1: a line of more than 16.00 KiB"));
  CHECK(contains(complaint([] { deck_of(std::string(1100000, '\n')); }),
                 "deck.toml: more than 1.00 MiB"));
}

TEST_CASE("paths are those that were meant", "[deck]") {
  const auto path = [](const std::string& value) {
    return deck_of("p = " + toml_value(value)).table("").path({.name = "p"}, "");
  };
  const std::string home = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "/root";
  CHECK(path("runs/a b") == "runs/a b");
  CHECK(path("") == "");
  CHECK(path("~") == home);
  CHECK(path("~/x/~y") == home + "/x/~y");
  CHECK(path("~root/x").ends_with("/x"));
  CHECK(path("~root/x").front() == '/');
  CHECK(path("./~x") == "./~x");
  CHECK(path("cost$5") == "cost$5");
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"~nobody_here/x", "user who is not known"},
      {"$HOME/x", "variable"},
      {"a/${USER}", "variable"},
      {" x", "blank"},
      {"x ", "blank"},
      {"a\nb", "control character"},
      {std::string("a\0b", 3), "control character"},
      {"a/" + std::string(256, 'x'), "too long"},
      {std::string(3000, '/') + std::string(2000, 'x'), "too long"}};
  for (const auto& [value, why] : refused) {
    const std::string message = complaint([&] { path(value); });
    INFO(message);
    CHECK(message.find("deck.toml:1: p: '") == 0);
    CHECK(contains(message, why));
  }
}

TEST_CASE("an idle reading checks keys and asks for none", "[deck]") {
  const Deck deck = deck_of("[run]\nsteps = 0\n");
  const auto steps = [&] {
    return deck.table("run").integer({.name = "steps"}, required, AtLeast(1));
  };
  {
    const Deck::Idle unused(deck);
    CHECK(contains(complaint(steps), "out of range"));
    CHECK(deck.table("data").integer({.name = "size"}, required, AtLeast(1)) == 1);
  }
  CHECK(contains(complaint([&] { deck.table("data").integer({.name = "size"}, required); }),
                 "'size' is required"));
  CHECK(deck.resolved().empty());
}

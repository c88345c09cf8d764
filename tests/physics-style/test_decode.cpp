// Continuing texts: the cached path against the full forward, and the choice of the next id.
#include "harness/catch.hpp"
#include "harness/model_fixture.hpp"
#include "jobs/sample/generator.hpp"
#include "jobs/sample/token_choice.hpp"

using namespace lexikos;
using namespace lexikos::test;

namespace {

constexpr Index vocabulary = 29, context = 9;

const std::string backbone = "layers = 2\nwidth = 16\nheads = 4\ncontext = 9\nmlp_width = 21\n";

/// Two texts of `context` ids whose first `common` agree.
std::vector<TokenId> two_texts(Index common) {
  Random random(40);
  std::vector<TokenId> ids = random.tokens(2 * context + 1, vocabulary);
  for (Index i = 0; i < common; ++i) ids[context + i] = ids[i];
  return ids;
}

template <class S>
Doubles full_logits(Setup<S>& setup) {
  setup.evaluate();
  const Device<S> out(2 * context * vocabulary);
  setup.model.logits(ExecSpace(), 0, out.view(2 * context, vocabulary));
  Kokkos::fence();
  return out.values();
}

template <class S>
Doubles row(const S* begin) {
  return Doubles(begin, begin + vocabulary);
}

/// Largest difference between the cached path and the full forward over both texts, over what
/// rounding allows.
template <class S>
double cache_error(const std::string& deck, Index prompt) {
  const std::vector<TokenId> ids = two_texts(prompt);
  Setup<S> setup(deck, vocabulary, ids, 2, 2);
  randomise(setup, 41);
  const Doubles full = full_logits(setup);
  REQUIRE(largest(full) > 0.5);
  const auto expected = [&](Index text, Index place) {
    return row(&full[(text * context + place) * vocabulary]);
  };
  Generator<S> generator(setup.model, 2);
  generator.begin({ids.begin(), ids.begin() + prompt});
  double error = 0;
  const std::vector<S> before = generator.prompt_logits();
  for (Index place = 0; place < prompt; ++place) {
    error = std::max(error, absolute_error(row(&before[place * vocabulary]), expected(0, place)));
  }
  for (Index place = prompt - 1;; ++place) {
    REQUIRE(generator.places() == place + 1);
    for (Index text = 0; text < 2; ++text) {
      error = std::max(error, absolute_error(row(generator.logits(text)), expected(text, place)));
    }
    if (place + 1 == context) {
      return error / rounding_of_sums<S>(terms_to_logits(2, 16, 4, context, 21), largest(full));
    }
    generator.append({ids[place + 1], ids[context + place + 1]});
  }
}

}  // namespace

TEST_CASE("the cached path gives the logits of the full forward", "[decode]") {
  const std::pair<const char*, std::string> interfaces[] = {
      {"tied", ""},
      {"untied", ""},
      {"lev", small_lev},
      {"binary_code", "recoding = \"affine\"\n"},
      {"albert", "rank = 3\n"},
      {"flat_mlp", "code_width = 3\nhidden = 7\n"},
      {"factored_mlp", "seed_width = 4\nhidden = 6\n"}};
  for (const auto& [interface, lines] : interfaces) {
    for (const char* more :
         {"", "kv_heads = 2\n", "kv_heads = 1\nmlp = \"gelu\"\n",
          "window = 3\nwindow_pattern = [1, 0]\n", "kv_heads = 2\nqk_norm = true\n"}) {
      const std::string deck = deck_text(interface, backbone + more, lines);
      for (const Index prompt : {Index{1}, Index{4}, context}) {
        CAPTURE(interface, more, prompt);
        CHECK(cache_error<double>(deck, prompt) <= 1);
        CHECK(cache_error<float>(deck, prompt) <= 1);
      }
    }
  }
}

TEST_CASE("the greedy texts of both paths agree", "[decode]") {
  const std::string deck = deck_text("untied", backbone);
  std::vector<TokenId> ids = two_texts(2);
  Setup<float> cached(deck, vocabulary, ids, 2, 2);
  randomise(cached, 42);
  Generator<float> generator(cached.model, 1);
  generator.begin({ids[0], ids[1]});
  for (Index place = 2; place < context; ++place) {
    // The full forward on what is there so far.
    Setup<float> full(deck, vocabulary, ids, 2, 2);
    randomise(full, 42);
    const Doubles logits = full_logits(full);
    const double* const last = &logits[(place - 1) * vocabulary];
    ids[place] = static_cast<TokenId>(std::max_element(last, last + vocabulary) - last);
    CAPTURE(place);
    CHECK(choose(generator.logits(0), vocabulary, {.temperature = 0}, 0.5) == ids[place]);
    if (place + 1 < context) generator.append({ids[place]});
  }
}

TEST_CASE("the likeliest id, and a tiny top_p, which is the same", "[decode]") {
  Random random(43);
  for (int trial = 0; trial < 50; ++trial) {
    Doubles logits = random.normals(200, 3.0);
    const auto best =
        static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    const double u = 1 - random.uniform();
    CHECK(choose(logits.data(), 200, {.temperature = 0}, u) == best);
    CHECK(choose(logits.data(), 200, {.temperature = 1.7, .top_p = 1e-9}, u) == best);
  }
  const Doubles equal(5, 2.0);
  CHECK(choose(equal.data(), 5, {.temperature = 0}, 0.9) == 0);  // the first of equals
  CHECK(choose(equal.data(), 5, {.top_p = 1e-9}, 0.9) == 0);
}

TEST_CASE("top_p keeps the likeliest ids that reach the share", "[decode]") {
  // Probabilities 0.1, 0.4, 0.2, 0.3: by size ids 1, 3, 2, 0.
  const Doubles logits = {std::log(0.1), std::log(0.4), std::log(0.2), std::log(0.3)};
  const auto drawn = [&](double top_p, double u) {
    return choose(logits.data(), 4, {.top_p = top_p}, u);
  };
  CHECK(drawn(0.39, 1.0) == 1);
  CHECK(drawn(0.41, 1.0) == 3);
  CHECK(drawn(0.69, 1.0) == 3);
  CHECK(drawn(0.71, 1.0) == 2);
  CHECK(drawn(0.69, 0.57) == 1);  // 4 / 7 = 0.5714 of what remains
  CHECK(drawn(0.69, 0.58) == 3);
  // Without a cut ids follow in their own order.
  CHECK(drawn(1.0, 0.09) == 0);
  CHECK(drawn(1.0, 0.11) == 1);
  CHECK(drawn(1.0, 0.69) == 2);
  CHECK(drawn(1.0, 1.0) == 3);
}

TEST_CASE("draws follow the probabilities at a temperature", "[decode]") {
  const Doubles logits = {1.0, -0.5, 0.3, 2.0, -3.0};
  constexpr Index count = 40000;
  for (const double temperature : {0.7, 1.0, 2.5}) {
    Doubles p(5);
    double total = 0;
    for (Index i = 0; i < 5; ++i) total += p[i] = std::exp(logits[i] / temperature);
    Doubles found(5, 0.0);
    for (Index n = 0; n < count; ++n) {
      const double u = draw(7, n / 100, n % 100);  // 400 samples of 100 places
      found[choose(logits.data(), 5, {.temperature = temperature}, u)] += 1;
    }
    double chi_squared = 0;
    for (Index i = 0; i < 5; ++i) {
      const double expected = count * p[i] / total;
      chi_squared += (found[i] - expected) * (found[i] - expected) / expected;
    }
    CAPTURE(temperature, chi_squared);
    CHECK(chi_squared < 18.5);  // 4 degrees of freedom: passed by chance but for 1 in 1000
  }
}

TEST_CASE("a draw depends only on seed, sample and place", "[decode]") {
  CHECK(draw(1, 2, 3) == draw(1, 2, 3));
  CHECK(draw(1, 2, 3) != draw(2, 2, 3));
  CHECK(draw(1, 2, 3) != draw(1, 3, 3));
  CHECK(draw(1, 2, 3) != draw(1, 2, 4));
}

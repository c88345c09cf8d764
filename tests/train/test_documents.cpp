// data.document_mask: what the batches say of documents, and that no document sees another in a
// model.
#include "harness/catch.hpp"
#include "harness/model_fixture.hpp"

using namespace lexikos;
using namespace lexikos::test;

namespace {

constexpr Index vocabulary = 23, context = 24;
constexpr TokenId end = 22;  // of text

/// A document: the same first token for all, `count` tokens in all, end of text.
std::vector<TokenId> document(Index count, std::uint64_t seed) {
  Random random(seed);
  std::vector<TokenId> ids = random.tokens(count, vocabulary - 1);
  ids.front() = 3;
  ids.back() = end;
  return ids;
}

/// One window of two documents and the beginning of a third.
std::vector<TokenId> window_of(const std::vector<TokenId>& a, const std::vector<TokenId>& b) {
  std::vector<TokenId> ids = a;
  ids.insert(ids.end(), b.begin(), b.end());
  const std::vector<TokenId> rest = document(context + 1 - static_cast<Index>(ids.size()), 99);
  ids.insert(ids.end(), rest.begin(), rest.end());
  return ids;
}

struct Found {
  Doubles logits;    // [T V]
  Doubles gradient;  // of all parameters
};

Found run(const std::string& interface, const std::vector<TokenId>& ids, bool mask) {
  const Deck deck = Deck::from_string(
      deck_text(interface, "layers = 2\nwidth = 12\nheads = 2\ncontext = 24\nmlp_width = 17\n",
                interface == "lev" ? small_lev : ""),
      "test.toml");
  Model<double> model(ModelSettings::read(deck), {vocabulary, 1, 1});
  model.allocate(4);
  Random random(8);
  const View1<double> values(model.parameters().values().data(), model.parameters().arena_size());
  set(values, random.normals(model.parameters().arena_size(), 0.3));
  const ListedTokens source(vocabulary, ids, end);
  BatchLoader loader(source, {.T = context, .sequences = 1, .micro_sequences = 1},
                     WindowSelection{1, 1}, {true, mask});
  const StepBatch& batch = loader.load(0);

  Found found;
  SumOnDevice sum;
  const ExecSpace space;
  model.evaluate(space, batch, sum.sum());
  const Device<double> logits(context * vocabulary);
  model.logits(space, 0, View2<double>(logits.view().data(), context, vocabulary));
  space.fence();
  found.logits = to_host(logits.view());
  Kokkos::deep_copy(model.parameters().gradients(), 0.0);
  model.forward_backward(space, batch, nullptr, sum.sum());
  space.fence();
  found.gradient = to_host(
      View1<double>(model.parameters().gradients().data(), model.parameters().arena_size()));
  return found;
}

/// What logits may differ by whose terms were summed in two orders.
double logits_error(const Doubles& logits) {
  return rounding_of_sums<double>(terms_to_logits(2, 12, 6, context, 17), largest(logits));
}

/// Largest difference of the logits of places [begin, end) of a window and of another.
double difference(const Doubles& a, Index a_begin, const Doubles& b, Index b_begin, Index places) {
  double most = 0;
  for (Index i = 0; i < places * vocabulary; ++i) {
    most = std::max(most, std::abs(a[a_begin * vocabulary + i] - b[b_begin * vocabulary + i]));
  }
  return most;
}

}  // namespace

TEST_CASE("a document's logits do not change with its neighbours, where the deck says so") {
  for (const char* interface : {"untied", "tied", "lev"}) {
    INFO(interface);
    const auto a = document(9, 1), other = document(9, 2), b = document(8, 3);
    for (const bool mask : {true, false}) {
      const Found one = run(interface, window_of(a, b), mask);
      const Found two = run(interface, window_of(other, b), mask);
      const Found moved = run(interface, window_of(b, a), mask);
      const double beside = difference(one.logits, 9, two.logits, 9, 8);
      const double elsewhere = difference(one.logits, 9, moved.logits, 0, 8);
      if (mask) {
        CHECK(beside < logits_error(one.logits));
        CHECK(elsewhere <
              logits_error(one.logits));  // its place in the window does not matter either
      } else {
        CHECK(beside > 1e-3);
        CHECK(elsewhere > 1e-3);
      }
      CHECK(difference(one.logits, 0, two.logits, 0, 9) > 1e-3);  // other tokens, other logits
    }
  }
}

TEST_CASE("gradients of documents in a window add up, where the deck says so") {
  const auto a = document(9, 1), other_a = document(9, 2);
  const auto b = document(8, 3), other_b = document(8, 4);
  for (const char* interface : {"untied", "lev"}) {
    INFO(interface);
    for (const bool mask : {true, false}) {
      const Doubles ab = run(interface, window_of(a, b), mask).gradient;
      const Doubles oo = run(interface, window_of(other_a, other_b), mask).gradient;
      const Doubles ao = run(interface, window_of(a, other_b), mask).gradient;
      const Doubles ob = run(interface, window_of(other_a, b), mask).gradient;
      double most = 0, mixed = 0;
      for (std::size_t i = 0; i < ab.size(); ++i) {
        most = std::max(most, std::abs(ab[i] - ao[i]));
        mixed = std::max(mixed, std::abs(ab[i] + oo[i] - ao[i] - ob[i]));
      }
      CHECK(most > 1e-3);
      if (mask) {
        // Four gradients: terms forward, twice as many backward, and the positions.
        const Index terms = 3 * terms_to_logits(2, 12, 6, context, 17) + context;
        CHECK(mixed < 4 * likely_rounding<double>(terms, largest(ab)));
      } else {
        CHECK(mixed > 1e-4);
      }
    }
  }
}

TEST_CASE(
    "batches say where each position's document begins; micro-batches and ranks change nothing") {
  // T 6: windows begin at 0, 6, 12.
  const std::vector<TokenId> ids = {1, 22, 2, 3, 22, 22, 4, 5, 6, 7, 8, 22, 9, 1, 2, 3, 4, 22, 5};
  const std::vector<std::int32_t> own = {0, 0, 2, 2, 2, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const ListedTokens source(vocabulary, ids, end);
  for (const Index micro : {1, 2, 3}) {
    BatchLoader loader(source, {.T = 6, .sequences = 3, .micro_sequences = micro},
                       WindowSelection{3, 3}, {true, true});
    std::vector<std::int32_t> found, targets;
    for (const MicroBatch& m : loader.load(0).micro) {
      REQUIRE_FALSE(m.input.spans.plain());
      const auto begins = to_host(m.input.spans.own_begin),
                 places = to_host(m.input.spans.position);
      found.insert(found.end(), begins.begin(), begins.end());
      for (std::size_t n = 0; n < places.size(); ++n) CHECK(places[n] == static_cast<int>(n % 6));
      for (const auto none : to_host(m.input.spans.shared_begin)) CHECK(none == 0);
      for (const auto none : to_host(m.input.spans.shared_end)) CHECK(none == 0);
      for (const TokenId id : to_host(m.targets)) targets.push_back(static_cast<std::int32_t>(id));
    }
    CHECK(found == own);
    CHECK(targets == std::vector<std::int32_t>(ids.begin() + 1, ids.end()));  // every target counts
  }
  BatchLoader plain(source, {.T = 6, .sequences = 3, .micro_sequences = 3}, WindowSelection{3, 3});
  CHECK(plain.load(0).micro[0].input.spans.plain());

  const ListedTokens silent(vocabulary, ids);
  try {
    BatchLoader(silent, {.T = 6, .sequences = 3, .micro_sequences = 3}, WindowSelection{3, 3},
                {true, true});
    FAIL("a source that does not know its documents");
  } catch (const Error& error) {
    CHECK(error.status() == Status::deck);
    CHECK(std::string(error.what()).find("give data.end_of_text") != std::string::npos);
  }
}

// Log-likelihoods of requests: contexts shared or not, any batch, against plain sequences one by
// one.
//
// fp64, so that a wrong mask or position (1e-3 and more) stands far above rounding.
#include "data/requests/request_rows.hpp"
#include "harness/catch.hpp"
#include "harness/listed_requests.hpp"
#include "harness/model_fixture.hpp"
#include "jobs/tasks/request_scorer.hpp"
#include "kernels/cross_entropy.hpp"

using namespace lexikos;
using namespace lexikos::test;

namespace {

constexpr Index vocabulary = 23, context = 12;

const std::string backbone =
    "layers = 2\nwidth = 12\nheads = 2\ncontext = 12\nmlp = \"swiglu\"\nmlp_width = 17\n"
    "init_deviation = 0.4\n";

/// Questions that fit, that fill a row, that do not fit together and that are too long for T; last
/// words and pages.
ListedRequests some_requests() {
  Random random(5);
  ListedRequests list;
  const auto ids = [&](Index n) { return random.tokens(n, vocabulary); };
  for (const Index before : {1, 2, 3, 5, 8, 11, 15}) {
    list.question(ids(before), {{ids(1)}, {ids(2)}, {ids(4)}, {ids(3)}});
  }
  list.question(std::vector<std::vector<TokenId>>{ids(4), ids(5)}, {{ids(2)}, {ids(2)}});
  list.word(ids(7), ids(2));
  list.word(ids(3), ids(14));
  list.page(0, ids(29), 1, 1);
  list.page(0, ids(4), 1, 1);
  return list;
}

struct Expected {
  double log_likelihood = 0;
  bool greedy = true;
  Index scored = 0;
};

/// One stretch as a plain sequence of its own.
void add_plain(const Requests& requests, const Stretch& stretch, Expected& sum) {
  std::vector<TokenId> ids(context + 1, 0);
  for (Index i = 0; i <= stretch.inputs; ++i) {
    ids[i] = requests.id(stretch.request, stretch.begin + i);
  }
  Setup<double> setup(deck_text("tied", backbone), vocabulary, ids, 1, 1);
  setup.evaluate();
  const Doubles nll = to_host(setup.model.nll(context));
  const Device<double> logits(Index{context * vocabulary});
  setup.model.logits(ExecSpace(), 0, logits.view(context, vocabulary));
  ExecSpace().fence();
  const Doubles row = logits.values();
  for (Index i = stretch.inputs - stretch.scored; i < stretch.inputs; ++i) {
    const auto first = row.begin() + i * vocabulary;
    sum.log_likelihood -= nll[i];
    sum.greedy = sum.greedy && std::max_element(first, first + vocabulary) - first ==
                                   static_cast<Index>(ids[i + 1]);
    ++sum.scored;
  }
}

std::vector<Expected> expected(const Requests& requests) {
  std::vector<Expected> all(requests.requests());
  for (Index d = 0; d < requests.documents(); ++d) {
    for (Index r = requests.first_request[d]; r < requests.first_request[d + 1]; ++r) {
      if (requests.task_of(d).shape == TaskShape::rolling) {
        for (const Stretch& window : rolling_windows(requests, r, context)) {
          add_plain(requests, window, all[r]);
        }
      } else {
        add_plain(requests, whole_text(requests, r, context), all[r]);
      }
    }
  }
  return all;
}

/// Makes the first choice of some requests greedy, so that the flag is not always 0.
void make_greedy(Requests& requests) {
  for (Index r = 0; r < requests.requests(); r += 3) {
    for (TokenId id = 0; id < vocabulary; ++id) {
      requests.continuation_ids[requests.continuation_begin[r]] = id;
      Expected first;
      Stretch stretch = whole_text(requests, r, context);
      stretch.inputs -= stretch.scored - 1;
      stretch.scored = 1;
      add_plain(requests, stretch, first);
      if (first.greedy) break;
    }
  }
}

}  // namespace

TEST_CASE("requests in shared rows have the log-likelihoods of plain sequences") {
  ListedRequests list = some_requests();
  make_greedy(list.requests);
  const std::vector<Expected> plain = expected(list.requests);
  const Communicator world(MPI_COMM_WORLD);
  // Likelihoods are as far off as the logits that they are made of, and about as large.
  const double limit = rounding_of_sums<double>(terms_to_logits(2, 12, 6, context, 17), 1);
  Index greedy = 0;
  for (const bool share : {true, false}) {
    for (const Index micro : {1, 2, 5}) {
      const Deck deck = Deck::from_string(deck_text("tied", backbone), "test.toml");
      Model<double> model(ModelSettings::read(deck), {vocabulary, micro, micro});
      model.allocate(1);
      const RequestScores found = score_requests(ExecSpace(), list.requests, share, world, model);
      for (Index r = 0; r < list.requests.requests(); ++r) {
        CAPTURE(share, micro, r);
        CHECK(found.log_likelihood[r] == Approx(plain[r].log_likelihood).epsilon(limit));
        CHECK((found.greedy[r] != 0) == plain[r].greedy);
        CHECK(found.scored[r] == plain[r].scored);
        greedy += found.greedy[r];
      }
    }
  }
  CHECK(greedy > 0);
}

TEST_CASE("sharing contexts takes fewer rows") {
  const ListedRequests list = some_requests();
  const auto rows = [&](bool share) {
    return pack_rows(bundles_of(list.requests, context, share), context).size();
  };
  CHECK(rows(true) < rows(false));
}

TEMPLATE_TEST_CASE("the likeliest id is the first of equal ones", "[cross_entropy]", float,
                   double) {
  const Doubles logits{1, 3, 3, 0, /**/ 1, 3, 3, 0, /**/ 5, 1, 2, 4, /**/ -1, -2, -3, -0.5};
  const std::vector<TokenId> targets{1, 2, 0, 0};
  const Device<TestType> logits_d(logits);
  const Device<TokenId> targets_d(targets);
  const Device<std::uint8_t> largest(std::vector<std::uint8_t>(4, 9));
  cross_entropy::is_largest<TestType>(ExecSpace(), logits_d.view(4, 4), targets_d.view(),
                                      largest.view());
  ExecSpace().fence();
  CHECK(to_host(largest.view()) == std::vector<std::uint8_t>{1, 0, 1, 0});
}

// Metrics of evaluation tasks against values by hand: choices of equal lengths in code points and
// unequal ones in bytes, a tie, last words, and pages.
#include "harness/catch.hpp"
#include "harness/listed_requests.hpp"
#include "jobs/tasks/task_metrics.hpp"
#include "utils/error.hpp"

using namespace lexikos;
using namespace lexikos::test;

namespace {

/// Six questions of two choices (4 code points each, 4 and 8 bytes), three last words, two pages.
ListedRequests listed() {
  ListedRequests list;
  for (const std::int64_t gold : {0, 1, 1, 0, 1, 0}) {
    list.question({1}, {{{2}, 4, 4}, {{3}, 4, 8}}, gold);
  }
  for (int i = 0; i < 3; ++i) list.word({1}, {2, 3});
  list.page(0, {1, 2}, 10, 60);
  list.page(0, {3}, 20, 90);
  return list;
}

RequestScores scored() {
  RequestScores scores;
  scores.log_likelihood = {-8,  -9, -8, -9,   -9,   -8,   -9,  -8, -8,
                           -10, -7, -7, -1.0, -2.5, -4.0, -50, -70};
  scores.greedy = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0};
  return scores;
}

}  // namespace

TEST_CASE("metrics of tasks have the values and documents of the harness") {
  const ListedRequests list = listed();
  const auto choices = task_metrics(list.requests, scored(), 0);
  REQUIRE(choices.size() == 3);
  CHECK(choices[0].numerator == std::vector<double>{1, 0, 1, 0, 0, 1});
  CHECK(choices[1].numerator == std::vector<double>{1, 0, 1, 0, 0, 1});
  CHECK(choices[2].numerator == std::vector<double>{0, 1, 1, 0, 1, 0});
  CHECK(choices[2].weight == std::vector<double>(6, 1.0));
  CHECK(choices[0].value() == 0.5);
  CHECK(choices[0].chance == 0.5);

  const auto words = task_metrics(list.requests, scored(), 1);
  REQUIRE(words.size() == 2);
  CHECK(words[0].value() == 2.0 / 3.0);
  CHECK(std::isnan(words[0].chance));
  CHECK(words[1].value() == Approx(std::exp(2.5)).epsilon(1e-15));

  const auto pages = task_metrics(list.requests, scored(), 2);
  REQUIRE(pages.size() == 3);
  CHECK(pages[0].weight == std::vector<double>{10, 20});
  CHECK(pages[0].value() == Approx(std::exp(120.0 / 30)).epsilon(1e-15));
  CHECK(pages[1].value() == Approx(std::exp(120.0 / 150)).epsilon(1e-15));
  CHECK(pages[2].value() == Approx(120.0 / 150 / std::log(2.0)).epsilon(1e-15));
}

TEST_CASE("lengths of choices are in code points and in bytes") {
  ListedRequests list;
  list.question({1}, {{{2}, 4, 4}, {{3}, 4, 8}}, 0);
  RequestScores scores;
  scores.log_likelihood = {-10, -12};
  scores.greedy = {0, 0};
  const auto found = task_metrics(list.requests, scores, 0);
  CHECK(found[1].value() == 1.0);
  CHECK(found[2].value() == 0.0);
}

TEST_CASE("a metric that is not known ends the run before any request is scored") {
  ListedRequests list = listed();
  CHECK_NOTHROW(check_metrics(list.requests));
  list.requests.tasks[1].metrics = "acc acc_norm";
  CHECK_THROWS_WITH(
      check_metrics(list.requests),
      ContainsSubstring("'words' (last_word) asks for the unknown metric 'acc_norm'"));
}

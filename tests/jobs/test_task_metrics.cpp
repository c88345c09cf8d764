// Metrics of evaluation tasks against numbers worked out by hand.
#include <cmath>

#include "harness/catch.hpp"
#include "harness/listed_requests.hpp"
#include "jobs/tasks/task_metrics.hpp"

using namespace lexikos;
using lexikos::test::ListedRequests;

namespace {

/// Ids that stand for a text of so many; which ones does not matter here.
std::vector<TokenId> ids(Index count) { return std::vector<TokenId>(count, 1); }

}  // namespace

TEST_CASE("acc_norm divides by code points, acc_bytes by bytes, the first of equal ones wins") {
  ListedRequests list;
  // "cafe" and "éééé": the same number of code points, twice the bytes.
  list.question(ids(2), {{ids(1), 4, 4}, {ids(1), 4, 8}}, 0);
  list.question(ids(2), {{ids(1), 8, 8}, {ids(1), 4, 4}}, 0);
  list.question(ids(2), {{ids(1), 1, 1}, {ids(1), 1, 1}}, 1);
  RequestScores scores;
  scores.log_likelihood = {-10.0, -12.0, -7.0, -4.0, -3.0, -3.0};
  scores.greedy = {0, 0, 0, 0, 0, 0};
  const std::vector<TaskMetric> found = task_metrics(list.requests, scores, 0);
  CHECK(found[0].weight.size() == 3);
  // acc: right, wrong, wrong (a tie). By code points: -2.5 > -3; -0.875 > -1; tie.
  // By bytes: -2.5 < -1.5; the rest as before.
  CHECK(found[0].name == "acc");
  CHECK(found[0].value() == 1.0 / 3);
  CHECK(found[1].name == "acc_norm");
  CHECK(found[1].value() == 2.0 / 3);
  CHECK(found[2].name == "acc_bytes");
  CHECK(found[2].value() == 1.0 / 3);
}

TEST_CASE("a last word of two ids counts once, pages by their words and bytes") {
  ListedRequests list;
  list.word(ids(3), ids(2));
  list.word(ids(3), ids(1));
  list.page(0, ids(20), 4, 10);
  list.page(0, ids(5), 1, 5);
  RequestScores scores;
  scores.log_likelihood = {-3.0, -1.0, -8.0, -2.0};
  scores.greedy = {0, 1, 0, 0};
  const std::vector<TaskMetric> words = task_metrics(list.requests, scores, 1);
  CHECK(words[0].value() == 0.5);
  CHECK(words[1].value() == Approx(std::exp(2.0)));  // per word, not per id
  const std::vector<TaskMetric> pages = task_metrics(list.requests, scores, 2);
  CHECK(pages[0].value() == Approx(std::exp(10.0 / 5)));
  CHECK(pages[1].value() == Approx(std::exp(10.0 / 15)));
  CHECK(pages[2].value() == Approx(10.0 / 15 / std::log(2.0)));
}

TEST_CASE("what was never measured is NaN, and a choice without letters is never chosen") {
  ListedRequests list;
  list.question(ids(2), {{ids(1), 0, 0}, {ids(1), 4, 4}}, 1);
  list.page(0, ids(20), 0, 0);
  RequestScores scores;
  scores.log_likelihood = {0.0, -12.0, -8.0};  // 0 / 0 would be neither more nor less than others
  scores.greedy = {0, 0, 0};
  const std::vector<TaskMetric> choices = task_metrics(list.requests, scores, 0);
  CHECK(choices[0].value() == 0.0);
  CHECK(choices[1].value() == 1.0);
  CHECK(choices[2].value() == 1.0);
  for (const TaskMetric& m : task_metrics(list.requests, scores, 1)) CHECK(std::isnan(m.value()));
  for (const TaskMetric& m : task_metrics(list.requests, scores, 2)) CHECK(std::isnan(m.value()));
}

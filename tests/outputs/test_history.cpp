// The history of a run: rows in, file out, rows back.
#include <cmath>

#include "harness/catch.hpp"
#include "harness/file_fixtures.hpp"
#include "harness/history_rows.hpp"

using namespace lexikos;
using namespace fixtures;

namespace {

/// The row of a step as a later version of the code has it.
struct LongerRow {
  std::int64_t step = 0, tokens = 0;
  double loss = 0, seconds = 0;
  std::int64_t count = 0;
  static const RowGroup<LongerRow> group;
};
const RowGroup<LongerRow> LongerRow::group = {
    "history",
    "one row a step",
    {{"step", "1", "its number", &LongerRow::step},
     {"tokens", "tokens", "up to it", &LongerRow::tokens},
     {"loss", "nats per token", "of its batch", &LongerRow::loss},
     {"seconds", "s", "up to it", &LongerRow::seconds},
     {"count", "1", "of something", &LongerRow::count}}};

History read(const std::string& path) {
  History history = empty_history();
  history.read_rows(Hdf5Reader(path));
  return history;
}

/// Writes a group with columns of the given lengths and of one type.
template <class T>
void write_columns(Hdf5Writer& file, const std::string& group,
                   const std::vector<std::pair<const char*, std::size_t>>& columns) {
  file.create_group(group);
  for (const auto& [name, rows] : columns) {
    file.write_extendable(group + "/" + name, std::vector<T>(rows));
  }
}

}  // namespace

TEST_CASE("a history comes back with its rows; the file says what they are") {
  const TemporaryFolder folder;
  const std::string path = folder.file("history.h5");
  const History history = some_history(3000);
  Attributes attributes;
  attributes.set("deck", "[model]\n").set("status", "running").set("threads", 2);
  history.write(path, history_format, attributes);

  const History again = read(path);
  CHECK(again.values(&StepRow::step) == history.values(&StepRow::step));
  CHECK(again.values(&StepRow::loss) == history.values(&StepRow::loss));
  CHECK(again.values("history", "seconds") == history.values(&StepRow::seconds));
  CHECK(again.values("validation", "perplexity") == std::vector<double>(300, std::exp(2.0)));
  CHECK(again.rows("late") == 0);

  const Hdf5Reader file(path);
  file.require_format("lexikos-history", 2);
  CHECK(file.text("/", "status") == "running");
  CHECK(file.integer("/", "threads") == 2);
  CHECK(file.members("/") == std::vector<std::string>{"history", "late", "validation"});
  CHECK(file.text("/history", "description") == "one row a step");
  CHECK(file.members("/history") == std::vector<std::string>{"step", "tokens", "loss", "seconds"});
  CHECK(file.text("/history/loss", "unit") == "nats per token");
  CHECK(file.text("/history/loss", "definition") == "of its batch");
  CHECK(file.info("/history/tokens").kind == DatasetInfo::Kind::signed_integer);
  CHECK(file.info("/history/loss").kind == DatasetInfo::Kind::real);

  SECTION("the datasets can be extended") {
    const hid_t opened = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(opened, "/history/loss", H5P_DEFAULT);
    const hid_t space = H5Dget_space(dataset);
    hsize_t size = 0;
    hsize_t most = 0;
    H5Sget_simple_extent_dims(space, &size, &most);
    CHECK(size == 3000);
    CHECK(most == H5S_UNLIMITED);
    H5Sclose(space);
    H5Dclose(dataset);
    H5Fclose(opened);
  }
}

TEST_CASE("a history without rows is a file, too") {
  const TemporaryFolder folder;
  empty_history().write(folder.file("history.h5"), history_format, {});
  CHECK(read(folder.file("history.h5")).rows("history") == 0);
}

TEST_CASE("a package's column is asked for with every row") {
  double now = 0;
  const MeasuredColumn column = {"mine", "m", "of a package", [&now] { return now += 0.25; }};
  History history = empty_history();
  history.extend<StepRow>(column);
  for (const std::int64_t step : {1, 2}) history.append(step_row(step));
  CHECK(history.values("history", "mine") == std::vector<double>{0.25, 0.5});

  const TemporaryFolder folder;
  history.write(folder.file("history.h5"), history_format, {});
  CHECK(Hdf5Reader(folder.file("history.h5")).text("/history/mine", "unit") == "m");
  CHECK(contains(error_of([&] { history.extend<StepRow>(column); }), "declared twice"));
  CHECK(contains(error_of([&] {
                   history.extend<StepRow>({"late", "1", "", nullptr});
                 }),
                 "after the first row"));

  const MeasuredColumn broken = {"broken", "1", "fails",
                                 []() -> double { fail(Status::file, "no number"); }};
  History whole = empty_history();
  whole.extend<StepRow>(broken);
  CHECK(error_of([&] { whole.append(step_row(1)); }) == "no number");
  CHECK(whole.rows("history") == 0);
}

TEST_CASE("what was not declared is refused by name") {
  History history = empty_history();
  CHECK(contains(error_of([&] { history.declare<StepRow>(); }), "'history' is declared twice"));
  CHECK(contains(error_of([&] { (void)history.values("validation", "los"); }),
                 "there are: step, loss, perplexity"));
  CHECK(contains(error_of([&] { (void)history.rows("nothing"); }),
                 "there are: history, validation, late"));
}

TEST_CASE("rows after a step are dropped") {
  History history = some_history(35);
  history.truncate_after(20);
  CHECK(history.rows("history") == 20);
  CHECK(history.rows("validation") == 2);
  CHECK(history.values(&StepRow::step).back() == 20);
  CHECK(history.values(&StepRow::seconds).back() == 10.0);
  history.truncate_after(0);
  CHECK(history.rows("history") == 0);
  CHECK(history.rows("validation") == 0);
}

TEST_CASE("a restart takes the rows over, and its columns must be the file's") {
  const TemporaryFolder folder;
  const std::string path = folder.file("history.h5");
  const History old = some_history(25);
  old.write(path, history_format, {});
  History history = some_history(3);
  const auto error = [&] { return error_of([&] { history.read_rows(Hdf5Reader(path)); }); };

  SECTION("columns that agree") {
    history.read_rows(Hdf5Reader(path));
    CHECK(history.values(&StepRow::loss) == old.values(&StepRow::loss));
    CHECK(history.rows("validation") == 2);
    history.append(step_row(26));
    CHECK(history.rows("history") == 26);
  }
  SECTION("a real column that is new has no past") {
    history = empty_history();
    history.extend<StepRow>({"new", "1", "new", [] { return 1.0; }});
    history.read_rows(Hdf5Reader(path));
    REQUIRE(history.values("history", "new").size() == 25);
    CHECK(std::isnan(history.values("history", "new")[24]));
  }
  SECTION("a whole column that is new cannot say so") {
    History longer;
    longer.declare<LossRow>();
    longer.declare<LongerRow>();
    CHECK(contains(error_of([&] { longer.read_rows(Hdf5Reader(path)); }), "no column 'count'"));
    CHECK(longer.rows("validation") == 0);
  }
  SECTION("a column that this run does not have") {
    History more = empty_history();
    more.extend<StepRow>({"extra", "1", "extra", [] { return 1.0; }});
    more.write(path, history_format, {});
    CHECK(contains(error(), "a column 'extra'"));
    CHECK(history.rows("history") == 3);
  }
  SECTION("another type") {
    Hdf5Writer file(path);
    write_columns<double>(file, "/history", {{"step", 2}, {"tokens", 2}, {"loss", 2}});
    file.commit();
    CHECK(contains(error(), "column 'step' of /history has another type"));
  }
}

TEST_CASE("an older file lacks groups and real columns that came later") {
  const TemporaryFolder folder;
  const std::string path = folder.file("history.h5");
  {
    Hdf5Writer file(path);
    write_columns<std::int64_t>(file, "/history", {{"step", 20}, {"tokens", 20}});
    write_columns<std::int64_t>(file, "/validation", {{"step", 2}});
    file.commit();
  }
  History into = some_history(30);
  into.append(LateRow{30});
  into.read_rows(Hdf5Reader(path));
  CHECK(into.rows("history") == 20);
  CHECK(into.rows("validation") == 2);
  CHECK(into.rows("late") == 0);
  CHECK(std::isnan(into.values("history", "seconds")[19]));
}

TEST_CASE("what is damaged is refused") {
  const TemporaryFolder folder;
  const std::string path = folder.file("history.h5");
  {
    Hdf5Writer file(path);
    write_columns<std::int64_t>(file, "/history", {{"step", 3}, {"tokens", 2}});
    file.commit();
  }
  CHECK(contains(error_of([&] { read(path); }),
                 "column 'tokens' of /history has 2 rows and 'step' has 3; the file is damaged"));
  {
    Hdf5Writer file(path);
    write_columns<std::int64_t>(file, "/history", {{"step", 3}, {"tokens", 3}});
    file.commit();
  }
  CHECK(contains(error_of([&] { read(path); }), "/validation"));
}

TEST_CASE("a history that cannot be written leaves the one before") {
  const TemporaryFolder folder;
  const std::string path = folder.file("history.h5");
  some_history(10).write(path, history_format, {});
  const History longer = some_history(5000);
  for (const std::size_t limit : {0, 1000, 20000, 100000}) {
    const FileSizeLimit full(limit);
    CHECK(contains(error_of([&] { longer.write(path, history_format, {}); }), "File too large"));
  }
  CHECK(read(path).rows("history") == 10);
  CHECK(folder.entries() == 1);
}

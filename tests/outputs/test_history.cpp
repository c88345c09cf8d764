// The history of a run: rows in, file out, rows back.
#include <cmath>

#include "harness/catch.hpp"
#include "harness/file_fixtures.hpp"
#include "outputs/history.hpp"

using namespace lexikos;
using namespace fixtures;

namespace {

std::vector<HistoryValue> row(std::int64_t step) {
  const auto s = static_cast<double>(step);
  return {step, step * 512, 9.0 / (s + 1), 1e-3, 1.0, 0.5 * s, 1024.0, 0.001 * s};
}

History sample(std::int64_t steps) {
  History history;
  for (std::int64_t step = 1; step <= steps; ++step) {
    history.append("history", row(step));
    if (step % 10 == 0) {
      history.append("validation", {step, step * 512, 2.0, std::exp(2.0), std::int64_t{4096}});
    }
  }
  return history;
}

template <class T>
const std::vector<T>& values(const History& history, const std::string& group,
                             const std::string& name) {
  return std::get<std::vector<T>>(history.column(group, name).values);
}

}  // namespace

TEST_CASE("the base columns are those that readers know") {
  const auto names = [](const History& history, const std::string& group) {
    std::vector<std::string> all;
    for (const HistoryColumn& column : history.columns(group)) {
      all.push_back(column.name + (column.whole() ? " int64" : " double"));
      CHECK_FALSE(column.unit.empty());
      CHECK_FALSE(column.definition.empty());
    }
    return all;
  };
  const History history;
  CHECK(names(history, "/history") ==
        std::vector<std::string>{"step int64", "tokens int64", "train_loss double",
                                 "learning_rate double", "gradient_norm double", "seconds double",
                                 "tokens_per_second double", "data_seconds double"});
  CHECK(names(history, "/validation") ==
        std::vector<std::string>{"step int64", "tokens int64", "loss double", "perplexity double",
                                 "targets int64"});
  CHECK(names(history, "/frequency") ==
        std::vector<std::string>{"step int64", "tokens int64", "lower double", "upper double",
                                 "ids int64", "targets int64", "loss double", "perplexity double"});
  CHECK(names(history, "/geometry") ==
        std::vector<std::string>{"step int64", "tokens int64", "matrix int64", "mu double",
                                 "sigma double", "epsilon double", "epsilon_centred double"});
}

TEST_CASE("a history comes back with its columns, units, order and attributes") {
  const TemporaryFolder folder;
  const std::string path = folder.file("history.h5");
  History history;
  history.add_column("history", "a_package_column", History::Type::real, "m", "of a package");
  history.add_column("history", "count", History::Type::whole, "1", "of a package");
  for (std::int64_t step = 1; step <= 3000; ++step) {
    auto values = row(step);
    values.emplace_back(0.25);
    values.emplace_back(std::int64_t{7});
    history.append("history", values);
  }
  history.append("/validation", {std::int64_t{3000}, std::int64_t{1}, 2.0, 7.4, std::int64_t{9}});
  Attributes attributes;
  attributes.set("deck", "[model]\n").set("status", "running").set("threads", 2);
  attributes.set("gemm_gflops", 230.5);
  history.write(path, attributes);

  Attributes read_attributes;
  const History read = History::read(path, &read_attributes);
  for (const char* group : {"history", "validation"}) {
    REQUIRE(read.columns(group).size() == history.columns(group).size());
    for (std::size_t i = 0; i < read.columns(group).size(); ++i) {
      CHECK(read.columns(group)[i].name == history.columns(group)[i].name);
      CHECK(read.columns(group)[i].unit == history.columns(group)[i].unit);
      CHECK(read.columns(group)[i].definition == history.columns(group)[i].definition);
      CHECK(read.columns(group)[i].values == history.columns(group)[i].values);
    }
  }
  CHECK(read_attributes.text("format") == "lexikos-history");
  CHECK(read_attributes.integer("format_version") == 2);
  CHECK(read_attributes.text("status") == "running");
  CHECK(read_attributes.integer("threads") == 2);
  CHECK(read_attributes.real("gemm_gflops") == 230.5);

  SECTION("the datasets can be extended") {
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, "/history/train_loss", H5P_DEFAULT);
    const hid_t space = H5Dget_space(dataset);
    hsize_t size = 0;
    hsize_t most = 0;
    H5Sget_simple_extent_dims(space, &size, &most);
    CHECK(size == 3000);
    CHECK(most == H5S_UNLIMITED);
    H5Sclose(space);
    H5Dclose(dataset);
    H5Fclose(file);
  }
}

TEST_CASE("a history without rows is a file, too") {
  const TemporaryFolder folder;
  History().write(folder.file("history.h5"), {});
  const History read = History::read(folder.file("history.h5"));
  CHECK(read.rows("history") == 0);
  CHECK(read.rows("validation") == 0);
  CHECK(read.columns("history").size() == 8);
}

TEST_CASE("a row that does not fit is refused whole") {
  History history;
  CHECK(contains(error_of([&] { history.append("history", {std::int64_t{1}}); }),
                 "has 8 columns and 1 values"));
  auto wrong = row(1);
  wrong[1] = 2.5;
  CHECK(contains(error_of([&] { history.append("history", wrong); }),
                 "'tokens' holds whole numbers"));
  CHECK(history.rows("history") == 0);
  auto whole = row(1);
  whole[2] = std::int64_t{3};
  history.append("history", whole);
  CHECK(values<double>(history, "history", "train_loss").back() == 3.0);
  CHECK(contains(
      error_of([&] { history.add_column("history", "late", History::Type::real, "1", "late"); }),
      "after the first row"));
  CHECK(contains(
      error_of([&] { History().add_column("history", "step", History::Type::real, "1", ""); }),
      "declared twice"));
  CHECK(contains(error_of([&] { history.append("nothing", {}); }), "no history group"));
  CHECK(contains(error_of([&] { (void)history.column("validation", "los"); }),
                 "there are step, tokens, loss, perplexity, targets"));
}

TEST_CASE("rows after a step are dropped") {
  History history = sample(35);
  history.truncate_after(20);
  CHECK(history.rows("history") == 20);
  CHECK(history.rows("validation") == 2);
  CHECK(values<std::int64_t>(history, "history", "step").back() == 20);
  CHECK(values<double>(history, "history", "seconds").back() == 10.0);
  history.truncate_after(0);
  CHECK(history.rows("history") == 0);
  CHECK(history.rows("validation") == 0);
}

TEST_CASE("a restart takes the rows over, and its columns must be the file's") {
  const TemporaryFolder folder;
  const std::string path = folder.file("history.h5");
  History old = sample(25);
  old.write(path, {});

  SECTION("the same columns") {
    History history;
    history.read_rows(Hdf5Reader(path));
    CHECK(history.columns("history")[2].values == old.columns("history")[2].values);
    CHECK(history.rows("validation") == 2);
    history.append("history", row(26));
    CHECK(history.rows("history") == 26);
  }
  SECTION("a real column that is new has no past") {
    History history;
    history.add_column("history", "new", History::Type::real, "1", "new");
    history.read_rows(Hdf5Reader(path));
    REQUIRE(values<double>(history, "history", "new").size() == 25);
    CHECK(std::isnan(values<double>(history, "history", "new")[24]));
  }
  SECTION("a whole column that is new cannot say so") {
    History history;
    history.add_column("history", "new", History::Type::whole, "1", "new");
    CHECK(contains(error_of([&] { history.read_rows(Hdf5Reader(path)); }), "no column 'new'"));
    CHECK(history.rows("history") == 0);
  }
  SECTION("a column that this run does not have") {
    History more;
    more.add_column("history", "extra", History::Type::real, "1", "extra");
    more.write(path, {});
    History history;
    CHECK(contains(error_of([&] { history.read_rows(Hdf5Reader(path)); }), "a column 'extra'"));
  }
  SECTION("another type") {
    History one;
    one.add_column("history", "x", History::Type::whole, "1", "x");
    one.write(path, {});
    History history;
    history.add_column("history", "x", History::Type::real, "1", "x");
    CHECK(contains(error_of([&] { history.read_rows(Hdf5Reader(path)); }), "another type"));
  }
}

TEST_CASE("a file of format version 1 has no rows by frequency and no data_seconds") {
  const TemporaryFolder folder;
  const std::string path = folder.file("history.h5");
  const History before = sample(20);
  {
    Hdf5Writer file(path);
    file.set_attribute("/", "format", std::string("lexikos-history"));
    file.set_attribute("/", "format_version", std::int64_t{1});
    for (const char* group : {"history", "validation"}) {
      file.create_group(std::string("/") + group);
      for (const HistoryColumn& column : before.columns(group)) {
        if (column.name == "data_seconds") continue;  // came later than version 2
        const std::string dataset = std::string("/") + group + "/" + column.name;
        std::visit([&](const auto& values) { file.write_extendable(dataset, values); },
                   column.values);
        file.set_attribute(dataset, "unit", column.unit);
        file.set_attribute(dataset, "definition", column.definition);
      }
    }
    file.commit();
  }
  History into = sample(3);
  into.append("frequency", {std::int64_t{3}, std::int64_t{1}, 0.0, 1.0, std::int64_t{1},
                            std::int64_t{1}, 1.0, 1.0});
  into.read_rows(Hdf5Reader(path));
  CHECK(into.rows("history") == 20);
  CHECK(into.rows("validation") == 2);
  CHECK(into.rows("frequency") == 0);
  REQUIRE(values<double>(into, "history", "data_seconds").size() == 20);
  CHECK(std::isnan(values<double>(into, "history", "data_seconds")[19]));
  CHECK(History::read(path).rows("frequency") == 0);
}

TEST_CASE("an evaluation file holds the two groups of an evaluation") {
  const TemporaryFolder folder;
  const std::string path = folder.file("evaluation.h5");
  sample(20).write_evaluation(path, Attributes().set("step", 20));
  const Hdf5Reader file(path);
  file.require_format("lexikos-evaluation", 1);
  CHECK(file.integer("/", "step") == 20);
  CHECK(file.has("/validation/loss"));
  CHECK(file.has("/frequency/loss"));
  CHECK_FALSE(file.has("/history"));
}

TEST_CASE("what is no history or is damaged is refused") {
  const TemporaryFolder folder;
  const std::string path = folder.file("history.h5");
  const auto error = [&] { return error_of([&] { (void)History::read(path); }); };
  CHECK(contains(error(), "No such file"));
  {
    Hdf5Writer file(path);
    file.set_attribute("/", "format", std::string("lexikos-history"));
    file.set_attribute("/", "format_version", std::int64_t{3});
    file.commit();
  }
  CHECK(contains(error(), "format version is 3"));
  {
    Hdf5Writer file(path);
    file.set_attribute("/", "format", std::string("lexikos-history"));
    file.set_attribute("/", "format_version", std::int64_t{1});
    for (const char* group : {"/history", "/validation"}) {
      for (const char* name : {"/step", "/loss"}) {
        const std::string dataset = std::string(group) + name;
        file.write_extendable(dataset, std::vector<double>(std::string(name) == "/step" ? 3 : 2));
        file.set_attribute(dataset, "unit", std::string("1"));
        file.set_attribute(dataset, "definition", std::string("x"));
      }
    }
    file.commit();
  }
  CHECK(contains(error(), "the file is damaged"));
}

TEST_CASE("a history that cannot be written leaves the one before") {
  const TemporaryFolder folder;
  const std::string path = folder.file("history.h5");
  sample(10).write(path, {});
  const History longer = sample(5000);
  for (const std::size_t limit : {0, 1000, 20000, 100000}) {
    const FileSizeLimit full(limit);
    CHECK(contains(error_of([&] { longer.write(path, {}); }), "File too large"));
  }
  CHECK(History::read(path).rows("history") == 10);
  CHECK(folder.entries() == 1);
}

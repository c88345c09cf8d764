// The columns of a run's files are those that readers know (src/outputs/README.md), in their order.
#include "harness/catch.hpp"
#include "harness/file_fixtures.hpp"
#include "train/evaluator.hpp"
#include "train/run_history.hpp"

using namespace lexikos;
using namespace fixtures;

namespace {

/// "step int64, loss double" of a group in a file; unit and definition must be there.
std::string columns_of(const Hdf5Reader& file, const std::string& group) {
  std::string text;
  for (const std::string& name : file.members(group)) {
    const std::string dataset = group + "/" + name;
    CHECK_FALSE(file.text(dataset, "unit").empty());
    CHECK_FALSE(file.text(dataset, "definition").empty());
    const bool real = file.info(dataset).kind == DatasetInfo::Kind::real;
    text += (text.empty() ? "" : ", ") + name + (real ? " double" : " int64");
  }
  return text;
}

const std::string validation =
    "step int64, tokens int64, loss double, perplexity double, targets int64";
const std::string frequency =
    "step int64, tokens int64, lower double, upper double, ids int64, targets int64, "
    "loss double, perplexity double";

}  // namespace

TEST_CASE("history.h5 has four groups") {
  const TemporaryFolder folder;
  run_history().write(folder.file("history.h5"), history_format, {});
  const Hdf5Reader file(folder.file("history.h5"));
  CHECK(file.members("/") ==
        std::vector<std::string>{"frequency", "geometry", "history", "validation"});
  CHECK(columns_of(file, "/history") ==
        "step int64, tokens int64, train_loss double, learning_rate double, gradient_norm double, "
        "seconds double, tokens_per_second double, data_seconds double, skipped double");
  CHECK(columns_of(file, "/validation") == validation);
  CHECK(columns_of(file, "/frequency") == frequency);
  CHECK(columns_of(file, "/geometry") ==
        "step int64, tokens int64, matrix int64, mu double, sigma double, epsilon double, "
        "epsilon_centred double");
}

TEST_CASE("evaluation.h5 has the two groups of an evaluation") {
  const TemporaryFolder folder;
  Evaluation found;
  found.targets = 4;
  found.nll = 8;
  found.bins = {{{0, 0.5, 7}, 3, 6}, {{0.5, 1, 2}, 1, 2}};
  write_evaluation(folder.file("evaluation.h5"), Attributes().set("member", "a"), found, 20, 640);
  const Hdf5Reader file(folder.file("evaluation.h5"));
  file.require_format("lexikos-evaluation", 1);
  CHECK(file.text("/", "member") == "a");
  CHECK(file.integer("/", "step") == 20);
  CHECK(file.integer("/", "tokens") == 640);
  CHECK(file.members("/") == std::vector<std::string>{"frequency", "validation"});
  CHECK(columns_of(file, "/validation") == validation);
  CHECK(columns_of(file, "/frequency") == frequency);
  CHECK(file.read<double>("/validation/perplexity") == std::vector<double>{std::exp(2.0)});
  CHECK(file.read<double>("/frequency/lower") == std::vector<double>{0, 0.5});
  CHECK(file.read<std::int64_t>("/frequency/ids") == std::vector<std::int64_t>{7, 2});
  CHECK(file.read<std::int64_t>("/frequency/targets") == std::vector<std::int64_t>{3, 1});
}

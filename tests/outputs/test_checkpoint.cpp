// Checkpoints: bit for bit back, refused when they do not fit, never half a file.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <type_traits>

#include "harness/catch.hpp"
#include "harness/file_fixtures.hpp"
#include "harness/history_rows.hpp"
#include "outputs/checkpoint.hpp"

using namespace lexikos;
using namespace fixtures;

namespace {

/// A small model's state on the host, each array with values of its own.
template <class Scalar>
struct Model {
  std::vector<std::string> names = {"embedding.table", "transformer.0.attention.qkv",
                                    "transformer.0.norm", "head.bias"};
  std::vector<std::vector<std::int64_t>> shapes = {{40, 6}, {6, 18}, {6}, {0}};
  std::vector<std::vector<Scalar>> values;  // parameters, then moment1, then moment2

  explicit Model(Scalar start) {
    for (int set = 0; set < 3; ++set) {
      for (const auto& shape : shapes) {
        std::int64_t size = 1;
        for (const std::int64_t extent : shape) size *= extent;
        values.emplace_back(static_cast<std::size_t>(size));
        for (Scalar& value : values.back()) value = (start = start * Scalar(1.01) + Scalar(0.1));
      }
    }
  }

  template <class T>
  StateArrays<T> arrays() {
    StateArrays<T> state;
    std::vector<NamedArray<T>>* const sets[] = {&state.parameters, &state.moment1, &state.moment2};
    for (std::size_t set = 0; set < 3; ++set) {
      for (std::size_t i = 0; i < names.size(); ++i) {
        sets[set]->push_back({names[i], shapes[i], values[set * names.size() + i].data()});
      }
    }
    return state;
  }
};

CheckpointHeader header_of(std::int64_t step) {
  CheckpointHeader header;
  header.step = step;
  header.tokens = step * 4096;
  header.seed = -3;
  header.deck = "[model]\nwidth = 6\n";
  header.code_version = "abc123";
  header.member = "b";
  header.other.set("data_hash", "ff00").set("data_size", 123);
  return header;
}

void write(const std::string& path, std::int64_t step, float start = 1) {
  Model<float> model(start);
  write_checkpoint<float>(path, header_of(step), model.arrays<const float>(), some_history(3));
}

std::string read_error(const std::string& path, Model<float>& model, History* history = nullptr) {
  return error_of([&] { read_checkpoint<float>(path, model.arrays<float>(), history); });
}

}  // namespace

TEMPLATE_TEST_CASE("a checkpoint comes back bit for bit", "", float, double) {
  const TemporaryFolder folder;
  const std::string path = checkpoint_path(folder.path(), 12);
  CHECK(path == folder.file("checkpoint_00000012.h5"));
  Model<TestType> model(1);
  // Values that a conversion would change.
  model.values[0][0] = -TestType(0);
  model.values[0][1] = std::numeric_limits<TestType>::denorm_min();
  model.values[0][2] = std::numeric_limits<TestType>::infinity();
  model.values[0][3] = std::nextafter(TestType(1), TestType(2));
  write_checkpoint<TestType>(path, header_of(12), model.template arrays<const TestType>(),
                             some_history(12));

  Model<TestType> read(50);
  History history = empty_history();
  const CheckpointHeader header =
      read_checkpoint<TestType>(path, read.template arrays<TestType>(), &history);
  for (std::size_t i = 0; i < model.values.size(); ++i) {
    INFO("array " << i);
    CHECK((model.values[i].empty() || std::memcmp(model.values[i].data(), read.values[i].data(),
                                                  model.values[i].size() * sizeof(TestType)) == 0));
  }
  CHECK(history.rows("history") == 12);
  CHECK(header.step == 12);
  CHECK(header.tokens == 12 * 4096);
  CHECK(header.seed == -3);
  CHECK(header.deck == "[model]\nwidth = 6\n");
  CHECK(header.code_version == "abc123");
  CHECK(header.member == "b");
  CHECK(header.scalar == (std::is_same_v<TestType, float> ? "float32" : "float64"));
  CHECK(header.other.text("data_hash") == "ff00");
  CHECK(header.other.integer("data_size") == 123);
  CHECK(header.other.entries().size() == 2);
  CHECK(read_checkpoint_header(path).tokens == header.tokens);

  // Written again from what was read: the same file.
  write_checkpoint<TestType>(folder.file("again.h5"), header,
                             read.template arrays<const TestType>(), history);
  CHECK(same_bytes(folder.file("again.h5"), path));
}

TEST_CASE("a checkpoint of another model is refused with name and shapes") {
  const TemporaryFolder folder;
  const std::string path = folder.file("checkpoint_00000001.h5");
  write(path, 1);
  Model<float> model(2);
  SECTION("another shape") {
    model.shapes[1] = {18, 6};
    const std::string text = read_error(path, model);
    CHECK(contains(text,
                   "/parameters/transformer.0.attention.qkv has shape [6 x 18] where [18 x 6]"));
    CHECK(contains(text, path));
  }
  SECTION("an array that it does not have") {
    model.names[2] = "transformer.0.gain";
    CHECK(contains(read_error(path, model),
                   "/parameters/transformer.0.gain is missing, shape [6] is expected"));
  }
  SECTION("an array too many") {
    auto state = model.arrays<float>();
    state.moment2.erase(state.moment2.begin());
    const std::string text = error_of([&] { read_checkpoint<float>(path, state, nullptr); });
    CHECK(contains(text, "it has /moment2/embedding.table of shape [40 x 6]"));
  }
  SECTION("another precision") {
    Model<double> other(1);
    const std::string text =
        error_of([&] { read_checkpoint<double>(path, other.arrays<double>(), nullptr); });
    CHECK(contains(text, "it holds float32 and this run keeps float64"));
  }
  SECTION("other history columns") {
    History history = empty_history();
    history.extend<LossRow>({"new", "1", "new", [] { return 1.0; }});
    write_checkpoint<float>(path, header_of(1), model.arrays<const float>(), history);
    history = empty_history();
    CHECK(contains(read_error(path, model, &history), "has a column 'new'"));
  }
}

TEST_CASE("what is no checkpoint is refused in one line") {
  const TemporaryFolder folder;
  const std::string path = folder.file("checkpoint_00000001.h5");
  Model<float> model(1);
  CHECK(
      contains(read_error(path, model), "No such file or directory; give a checkpoint_<step>.h5"));
  CHECK(contains(read_error(folder.path(), model), "it is a folder"));
  write_bytes(path, "step = 1\n");
  CHECK(contains(read_error(path, model), "not an HDF5 file"));
  empty_history().write(path, history_format, {});
  CHECK(contains(read_error(path, model),
                 "a 'lexikos-history' file where 'lexikos-checkpoint' is expected"));
  {
    Hdf5Writer file(path);
    file.set_attribute("/", "format", std::string("lexikos-checkpoint"));
    file.set_attribute("/", "format_version", std::int64_t{3});
    file.commit();
  }
  CHECK(contains(read_error(path, model), "version is 3 and this program reads up to 2"));
  CHECK(!error_of([&] { read_checkpoint_header(path); }).empty());
}

TEST_CASE("a byte that changed anywhere is refused, and the checkpoint before is found") {
  const TemporaryFolder folder;
  const std::string before = checkpoint_path(folder.path(), 1);
  const std::string path = checkpoint_path(folder.path(), 2);
  write(before, 1);
  write(path, 2);
  const std::string whole = bytes_of(path);
  Model<float> model(1);
  CHECK(read_error(path, model).empty());

  std::vector<std::size_t> places = {0, whole.size() - 1, whole.size() - 8, whole.size() - 32};
  for (std::size_t at = 5; at < whole.size(); at += whole.size() / 300) places.push_back(at);
  {
    // The first and the last byte of every array, whatever its size.
    const Hdf5Reader file(path);
    for (const char* group : {"/parameters/", "/moment1/", "/moment2/"}) {
      for (const std::string& name : file.members(group)) {
        const DatasetInfo info = file.info(group + name);
        if (info.size() == 0) continue;
        REQUIRE(info.mappable_at > 0);
        places.push_back(static_cast<std::size_t>(info.mappable_at));
        places.push_back(places.back() +
                         static_cast<std::size_t>(info.size() * info.element_bytes) - 1);
      }
    }
  }
  for (const std::size_t at : places) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
    write_bytes(path, changed);
    INFO("byte " << at << " of " << whole.size());
    CHECK_FALSE(read_error(path, model).empty());
    CHECK(find_newest_checkpoint(folder.path()).value_or("none") == before);
  }
  // Cut off within the seal, and something added behind it.
  for (const std::string& other : {whole.substr(0, whole.size() - 1), whole + "x"}) {
    write_bytes(path, other);
    CHECK(contains(read_error(path, model), "no checksum at its end"));
  }
  write_bytes(path, whole);
  CHECK(find_newest_checkpoint(folder.path()).value_or("none") == path);
}

TEST_CASE("the newest checkpoint is the newest that can be read") {
  const TemporaryFolder folder;
  const auto newest = [&](std::vector<std::string>* passed_over = nullptr) {
    return find_newest_checkpoint(folder.path(), passed_over).value_or("none");
  };
  CHECK(newest() == "none");
  CHECK_FALSE(find_newest_checkpoint(folder.file("absent")).has_value());

  for (const std::int64_t step : {0, 2, 10, 20000000, 123456789}) {
    write(checkpoint_path(folder.path(), step), step);
  }
  CHECK(newest() == folder.file("checkpoint_123456789.h5"));
  write_bytes(folder.file("checkpoint_99999999.h5.tmp.17"), "half");
  write_bytes(folder.file("checkpoint_best.h5"), "x");
  write_bytes(folder.file("checkpoint_3.h5"), "x");
  CHECK(newest() == folder.file("checkpoint_123456789.h5"));

  std::filesystem::remove(folder.file("checkpoint_20000000.h5"));
  const std::string bytes = bytes_of(folder.file("checkpoint_123456789.h5"));
  write_bytes(folder.file("checkpoint_123456789.h5"), bytes.substr(0, bytes.size() / 2));
  write_bytes(folder.file("checkpoint_00000011.h5"), "");
  write(folder.file("checkpoint_00000012.h5"), 11);  // says another step
  std::vector<std::string> passed_over;
  CHECK(newest(&passed_over) == folder.file("checkpoint_00000010.h5"));
  REQUIRE(passed_over.size() == 3);
  CHECK(contains(passed_over[0], "damaged or truncated"));
  CHECK(contains(passed_over[1], "of step 11, not what its name says"));
  CHECK(contains(passed_over[2], "empty"));

  Hdf5Writer file(folder.file("checkpoint_00000013.h5"));
  file.set_attribute("/", "format", std::string("lexikos-checkpoint"));
  file.set_attribute("/", "format_version", std::int64_t{3});
  file.commit();
  CHECK(contains(error_of([&] { newest(); }), "use a newer lexikos"));
}

TEST_CASE("old checkpoints are removed, and what killed writers left") {
  const TemporaryFolder folder;
  const auto fill = [&] {
    for (std::int64_t step = 1; step <= 5; ++step)
      write(checkpoint_path(folder.path(), step), step);
  };
  fill();
  empty_history().write(folder.file("history.h5"), history_format, {});
  write_bytes(folder.file("checkpoint_00000009.h5.tmp.4711"), "half");
  write_bytes(folder.file("history.h5.tmp.4711"), "another program's");
  prune_checkpoints(folder.path(), {0, 2});
  CHECK(folder.entries() == 7);
  prune_checkpoints(folder.path(), {2, 0});
  CHECK(folder.entries() == 4);
  CHECK(std::filesystem::exists(folder.file("checkpoint_00000005.h5")));
  CHECK(std::filesystem::exists(folder.file("checkpoint_00000004.h5")));
  prune_checkpoints(folder.path(), {100, 0});
  CHECK(folder.entries() == 4);
}

TEST_CASE("the newest checkpoints stay, and every m-th for ever") {
  const TemporaryFolder folder;
  // As a run goes: written every 5 steps, pruned each time.
  for (std::int64_t step = 5; step <= 65; step += 5) {
    write(checkpoint_path(folder.path(), step), step);
    prune_checkpoints(folder.path(), {2, 20});
  }
  for (const std::int64_t step : {20, 40, 60, 65}) {
    CHECK(std::filesystem::exists(checkpoint_path(folder.path(), step)));
  }
  CHECK(folder.entries() == 4);
  prune_checkpoints(folder.path(), {1, 0});
  CHECK(folder.entries() == 1);
  CHECK(std::filesystem::exists(checkpoint_path(folder.path(), 65)));
}

TEST_CASE("a checkpoint that cannot be written leaves the ones before") {
  const TemporaryFolder folder;
  const std::string path = checkpoint_path(folder.path(), 1);
  write(path, 1);
  const std::string before = bytes_of(path);
  for (std::size_t limit = 0; limit < before.size(); limit += 1013) {
    const FileSizeLimit full(limit);
    const std::string again = error_of([&] { write(path, 1, 2); });
    const std::string next = error_of([&] { write(checkpoint_path(folder.path(), 2), 2); });
    REQUIRE(contains(again, "File too large"));
    REQUIRE(contains(next, "File too large"));
  }
  const bool unchanged = bytes_of(path) == before;
  CHECK(unchanged);
  CHECK(folder.entries() == 1);
  CHECK(find_newest_checkpoint(folder.path()).value_or("none") == path);
}

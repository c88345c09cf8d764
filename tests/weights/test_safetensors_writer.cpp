// Weights written as safetensors, read back by the reader that refuses everything irregular.
#include "weights/safetensors_writer.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "harness/catch.hpp"
#include "harness/file_fixtures.hpp"
#include "utils/error.hpp"
#include "weights/weight_file.hpp"

using namespace lexikos;

namespace {

const std::vector<TensorShape> tensors = {{"a.weight", {3, 5}}, {"b", {7}}, {"c", {2, 4}}};

std::vector<float> some_values(Index count) {
  std::vector<float> values;
  for (Index i = 0; i < count; ++i) values.push_back(std::sin(1.0f + float(i)) * 3.0f);
  return values;
}

/// Writes values in pieces of `piece`, cut at the ends of tensors.
void write_all(SafetensorsWriter& file, const std::vector<float>& values, Index piece) {
  Index at = 0;
  for (const TensorShape& t : tensors) {
    const Index end = at + t.size();
    for (; at < end; at += std::min(piece, end - at)) {
      file.write(values.data() + at, std::min(piece, end - at));
    }
  }
  file.finish();
}

std::vector<double> read_all(const std::string& folder) {
  const WeightFile file(folder, {"a.key", "", ""});
  std::vector<double> values;
  for (const TensorShape& t : tensors) {
    const WeightMatrix matrix = file.tensor(t.name, t.shape);
    for (Index row = 0; row < matrix.rows; ++row) {
      std::vector<double> one(matrix.width);
      matrix.read(row, one.data());
      values.insert(values.end(), one.begin(), one.end());
    }
  }
  return values;
}

}  // namespace

TEST_CASE("bfloat16 is the nearest, ties to even") {
  const auto narrow = [](float x) { return widen_bf16(narrow_bf16(x)); };
  const float step = 0x1p-7f;  // between neighbours from 1 to 2
  CHECK(narrow(1.0f) == 1.0f);
  CHECK(narrow(1.0f + 0.5f * step) == 1.0f);
  CHECK(narrow(1.0f + 1.5f * step) == 1.0f + 2 * step);
  CHECK(narrow(1.0f + 0.51f * step) == 1.0f + step);
  CHECK(narrow(-1.0f - 0.51f * step) == -1.0f - step);
  CHECK(narrow(-0.0f) == 0.0f);
  CHECK(std::signbit(narrow(-0.0f)));
  CHECK(narrow(2.0f - 0x1p-20f) == 2.0f);  // the carry goes into the exponent
  const float infinite = std::numeric_limits<float>::infinity();
  CHECK(narrow(infinite) == infinite);
  CHECK(narrow(std::numeric_limits<float>::max()) == infinite);
  CHECK(std::isnan(narrow(std::numeric_limits<float>::quiet_NaN())));
  CHECK(std::isnan(narrow(std::bit_cast<float>(0x7F800001u))));
  CHECK(narrow(0x1p-133f) == 0x1p-133f);  // the smallest there is
}

TEST_CASE("shards stay within their size, a large tensor alone") {
  const auto sizes = [](Index most) {
    std::vector<std::size_t> counts;
    for (const Shard& s : plan_shards(tensors, Element::f32, most)) {
      counts.push_back(s.end - s.begin);
    }
    return counts;
  };
  CHECK(sizes(1000) == std::vector<std::size_t>{3});
  CHECK(sizes(4 * 30) == std::vector<std::size_t>{3});
  CHECK(sizes(4 * 30 - 1) == std::vector<std::size_t>{2, 1});
  CHECK(sizes(4 * 15) == std::vector<std::size_t>{1, 2});
  CHECK(sizes(1) == std::vector<std::size_t>{1, 1, 1});
}

TEST_CASE("what was written is read back") {
  const std::vector<float> values = some_values(30);
  for (const Element element : {Element::f32, Element::bf16}) {
    for (const Index shard_bytes : {Index{1} << 20, Index{40}, Index{1}}) {
      for (const Index piece : {1, 4, 100}) {
        const fixtures::TemporaryFolder folder;
        SafetensorsWriter file(folder.path(), tensors, element, shard_bytes);
        write_all(file, values, piece);
        const std::vector<double> found = read_all(folder.path());
        REQUIRE(found.size() == values.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
          const float expected =
              element == Element::f32 ? values[i] : widen_bf16(narrow_bf16(values[i]));
          CHECK(found[i] == expected);
        }
        CHECK(file.bytes() == 30 * (element == Element::f32 ? 4 : 2));
      }
    }
  }
}

TEST_CASE("a writer that is given too much or too little says so") {
  const fixtures::TemporaryFolder folder;
  const std::vector<float> values = some_values(30);
  SafetensorsWriter file(folder.path(), tensors, Element::f32, 1000);
  CHECK_THROWS_AS(file.write(values.data(), 16), Error);
  file.write(values.data(), 15);
  CHECK_THROWS_AS(file.finish(), Error);
  CHECK_THROWS_AS(SafetensorsWriter(folder.path() + "/no", tensors, Element::f32, 1000), Error);
}

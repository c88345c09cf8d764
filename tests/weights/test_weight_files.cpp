// Weight files that are not quite what was expected: one tensor's troubles are its own, sizes that
// overflow are refused, and every line names what is wrong in the words of the job that asks.
#include "weights/weight_file.hpp"

#include <cmath>
#include <limits>

#include "harness/catch.hpp"
#include "harness/file_fixtures.hpp"
#include "harness/weight_fixtures.hpp"

using namespace lexikos;
using namespace fixtures;

namespace {

const WeightKeys keys = {"job.place", "job.input", "job.output"};

/// A file of these bytes in a folder of its own.
class Place {
 public:
  explicit Place(const std::string& bytes, const std::string& name = "x") { add(name, bytes); }
  void add(const std::string& name, const std::string& bytes) {
    last_ = folder_.file(name);
    write_bytes(last_, bytes);
  }
  [[nodiscard]] WeightFile file() const { return WeightFile(last_, keys); }
  [[nodiscard]] WeightFile folder() const { return WeightFile(folder_.path(), keys); }
  /// The line on the input matrix, or on what stands before it.
  [[nodiscard]] std::string refusal() const {
    return error_of([&] { (void)file().matrix(Side::input); });
  }
  [[nodiscard]] std::string folder_refusal() const {
    return error_of([&] { (void)folder().matrix(Side::input); });
  }

 private:
  TemporaryFolder folder_;
  std::string last_;
};

const Zeros table = {"wte.weight", "F32", "[2,3]", 24};
const std::string index_start = R"({"weight_map":{)";

}  // namespace

TEST_CASE("a dtype that is not known is its tensor's trouble alone", "[weights]") {
  for (const char* dtype : {"F8_E8M0", "F4", "F6_E2M3", "C64", "F8_E4M3FNUZ", "I64", "BOOL", ""}) {
    INFO(dtype);
    // 5 bytes: of no size that its shape tells.
    const bool known = dtype == std::string("I64") || dtype == std::string("BOOL");
    const Zeros odd = {"scales", dtype, "[5]", known && dtype[0] == 'I' ? 40u : 5u};
    const Place place(safetensors({odd, table}));
    CHECK(place.refusal().empty());
    CHECK(place.file().matrix(Side::input)->rows == 2);
    CHECK(contains(error_of([&] { (void)place.file().tensor("scales", {5}); }), dtype));
  }
  CHECK(contains(Place(safetensors({{"wte.weight", "F4", "[2,6]", 6}})).refusal(), "type F4"));
}

TEST_CASE("what a safetensors file says beside its tensors may be anything", "[weights]") {
  const std::string entry = R"("wte.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]})";
  const std::string values(24, '\0');
  for (const char* metadata : {"{}", "null", "3", R"({"a":1})", R"({"a":{"b":[NaN,-Infinity]}})",
                               R"({"half":"\ud800"})"}) {
    INFO(metadata);
    const std::string header = std::string(R"({"__metadata__":)") + metadata + "," + entry + "}";
    CHECK(Place(safetensors(header, values)).refusal().empty());
  }
  CHECK(contains(Place(safetensors("{" + entry + "," + entry + "}", values)).refusal(), "twice"));
  const std::string deep = R"({"__metadata__":)" + std::string(70, '[');
  CHECK(contains(Place(safetensors(deep, values)).refusal(), "nested too deeply"));
}

TEST_CASE("sizes of safetensors that no file has", "[weights]") {
  const std::string big = "2305843009213693952";  // 2^61
  const auto file = [&](const std::string& shape, const std::string& offsets) {
    return Place(safetensors(
        R"({"wte.weight":{"dtype":"F64","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}",
        std::string(24, '\0')));
  };
  CHECK(contains(file("[3," + big + "]", "[0,24]").refusal(), "overflows"));
  CHECK(contains(file("[-1,3]", "[0,24]").refusal(), "no sensible number"));
  CHECK(contains(file("[1e3,3]", "[0,24]").refusal(), "no sensible number"));
  CHECK(contains(file("[1,3]", "[0,9223372036854775807]").refusal(), "'wte.weight'"));
  CHECK(contains(file("[1,3]", "[24,0]").refusal(), "end before the beginning"));
  // No rows, and a width that would make a buffer of 2^61 numbers.
  const std::string none =
      R"({"wte.weight":{"dtype":"F8_E4M3","shape":[0,)" + big + R"(],"data_offsets":[0,0]}})";
  CHECK(contains(Place(safetensors(none, "")).refusal(), "has no values"));
  // Rows without end that take no bytes.
  CHECK(contains(Place(safetensors({{"wte.weight", "F32", "[281474976710656,0]", 0}})).refusal(),
                 "has no values"));
}

TEST_CASE("the other byte order is named", "[weights]") {
  std::string swapped = safetensors({table});
  std::reverse(swapped.begin(), swapped.begin() + 8);
  CHECK(contains(Place(swapped).refusal(), "big-endian"));
  for (const std::int64_t version : {0x01000000, 0x02000000, 0x03000000}) {
    const std::string line = Place(gguf({}, {}, "", version)).refusal();
    CHECK(contains(line, "big-endian"));
    CHECK(contains(line, "version " + std::to_string(version >> 24)));
  }
  CHECK(contains(Place(gguf({}, {}, "", 4)).refusal(), "GGUF version is 4;"));
  const std::string big = "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }";
  CHECK(contains(Place(npy(big, std::string(24, '\0'))).refusal(), "big-endian"));
}

TEST_CASE("headers of .npy", "[weights]") {
  const std::string values(24, '\0');
  const auto line = [&](const std::string& shape, int version = 1) {
    return Place(npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }", values,
                     version))
        .refusal();
  };
  CHECK(line("(2, 3)").empty());
  CHECK(line("(2L, 3L)").empty());  // of Python 2
  CHECK(contains(line("(2, 3)", 4), "version 4"));
  CHECK(contains(line("(2, 4)"), "needs 32 bytes and the file has 24"));
  CHECK(contains(line("(4294967296, 4294967296)"), "overflows"));
  CHECK(contains(line("(2, 99999999999999999999)"), "is no shape"));
  CHECK(contains(line("(2, -3)"), "is no shape"));
  CHECK(contains(line("7"), "no tuple"));
}

TEST_CASE("values of GGUF that nobody asks for", "[weights]") {
  const std::string f32(24, '\0');
  const GgufTensor good = {"token_embd.weight", {3, 2}, 0, 0};
  const auto file = [&](const std::vector<std::string>& values,
                        const std::vector<GgufTensor>& tensors) {
    return Place(gguf(values, tensors, f32));
  };
  const auto key = [](const std::string& name, std::int64_t type) {
    return Bytes().add(gguf_text(name)).add<std::uint32_t>(type);
  };
  const std::vector<std::string> odd = {
      key("general.architecture", 4).add<std::uint32_t>(7).text(),
      key("llama.block_count", 8).add(gguf_text("many")).text(),
      key("", 12).add<std::uint64_t>(0x7FF8000000000000).text(),
      key("tokenizer.ggml.tokens", 9).add<std::uint32_t>(4).add<std::uint64_t>(0).text(),
      key("nested", 9).add<std::uint32_t>(9).add<std::uint64_t>(0).text()};
  CHECK(file(odd, {good}).refusal().empty());
  // Types of tensors that are not read, more dimensions than four, places outside the file.
  for (const GgufTensor& other :
       {GgufTensor{"q", {32, 2}, 12, 0}, GgufTensor{"u", {3, 2}, 99, 0},
        GgufTensor{"m", {1, 1, 1, 1, 1, 3}, 0, 0},
        GgufTensor{"far", {3, 2}, 0, std::int64_t{1} << 62}, GgufTensor{"end", {3, 2}, 0, -8}}) {
    INFO(other.name);
    CHECK(file({}, {other, good}).refusal().empty());
    CHECK_FALSE(error_of([&] { (void)file({}, {other, good}).file().matrix(other.name); }).empty());
  }
  CHECK(contains(file({}, {{"token_embd.weight", {32, 2}, 12, 0}}).refusal(), "12, Q4_K"));
  // Names that no terminal and no reader of logs could show.
  const GgufTensor unreadable = {"\xff\xfe.weight", {3, 2}, 0, 0};
  CHECK(contains(file({}, {unreadable}).refusal(), "its matrices are: ??.weight"));
  CHECK(contains(file({}, {good, good}).refusal(), "two tensors 'token_embd.weight'"));
  CHECK(contains(file({key("odd", 77).text()}, {good}).refusal(), "key 'odd'"));
  CHECK(
      contains(file({key("general.alignment", 10).add<std::uint64_t>(32).text()}, {good}).refusal(),
               "general.alignment has the value type 10"));
  CHECK(
      contains(file({key("general.alignment", 4).add<std::uint32_t>(12).text()}, {good}).refusal(),
               "general.alignment = 12"));
  const std::string endless = key("list", 9).add<std::uint32_t>(5).add<std::uint64_t>(-1).text();
  CHECK(contains(file({endless}, {good}).refusal(), "past the end"));
}

TEST_CASE("values that are not finite, by row and column", "[weights]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values = {1, 2, 3, 4, 5, nan};
  WeightMatrix matrix = WeightMatrix::over(values.data(), 2, 3, "a table");
  std::vector<double> row(3);
  const auto read = [&](Index i) { read_finite(matrix, i, row.data()); };
  CHECK(error_of([&] { read(0); }).empty());
  CHECK(contains(error_of([&] { read(1); }, Status::numerical), "row 1, column 2 is nan"));
  matrix.computed = false;  // as if a file had brought it
  CHECK(contains(error_of([&] { read(1); }), "'a table': row 1, column 2 is nan"));
  // A block of Q8_0 whose scale is infinite, and the NaN of 8 bits.
  const std::string block = std::string("\x00\x7c", 2) + std::string(32, '\1');
  matrix = {"q8", 1,    32, Element::q8_0, reinterpret_cast<const std::byte*>(block.data()),
            {},   false};
  row.resize(32);
  CHECK(contains(error_of([&] { read(0); }), "row 0, column 0 is inf"));
  const std::string bytes = "\x38\x7f";
  matrix = {"f8", 1,    2, Element::f8_e4m3, reinterpret_cast<const std::byte*>(bytes.data()),
            {},   false};
  CHECK(contains(error_of([&] { read(0); }), "row 0, column 1 is nan"));
}

TEST_CASE("8-bit values that another tensor scales are not the numbers", "[weights]") {
  const Zeros narrow = {"wte.weight", "F8_E4M3", "[2,3]", 6};
  CHECK(Place(safetensors({narrow})).refusal().empty());
  for (const char* name : {"wte.weight_scale", "wte.weight_scale_inv"}) {
    CHECK(contains(Place(safetensors({narrow, {name, "F32", "[1]", 4}})).refusal(), name));
  }
}

TEST_CASE("which file of a folder is read", "[weights]") {
  const std::string file = safetensors({table});
  const std::string other = safetensors({{"wte.weight", "F32", "[4,3]", 48}});
  SECTION("one file, whatever an older index says") {
    Place place(file, "model.safetensors");
    place.add("old-00001-of-00001.safetensors", other);
    place.add("model.safetensors.index.json",
              index_start + R"("wte.weight":"old-00001-of-00001.safetensors"}})");
    place.add("pytorch_model.bin", "PK");
    CHECK(place.folder().matrix(Side::input)->rows == 2);
    CHECK(contains(place.folder().passed_over(), "model.safetensors.index.json"));
  }
  SECTION("without an index, shards are no model") {
    Place place(file, "model-00001-of-00002.safetensors");
    CHECK(contains(place.folder_refusal(), "'model-00001-of-00002.safetensors'"));
    place.add("model-00002-of-00002.safetensors", other);
    const std::string line = place.folder_refusal();
    CHECK(contains(line, "'model-00002-of-00002.safetensors'"));
    CHECK(contains(line, "check job.place"));
  }
  SECTION("pickles are named") {
    const std::string line = Place("PK", "pytorch_model.bin").folder_refusal();
    CHECK(contains(line, "'pytorch_model.bin', a pickle"));
    CHECK(contains(line, "check job.place"));
  }
  SECTION("two files that say the same") {
    Place place(file, "model.safetensors");
    place.add("embedding.h5", "");
    CHECK(contains(place.folder_refusal(), "both 'model.safetensors' and 'embedding.h5'"));
  }
}

TEST_CASE("shards: what is asked for must be there, and once", "[weights]") {
  const std::string map = index_start + R"("wte.weight":"a","lm_head.weight":"b"}})";
  const Zeros head = {"lm_head.weight", "F32", "[2,3]", 24};
  SECTION("one is missing") {
    Place place(safetensors({table}), "a");
    place.add("model.safetensors.index.json", map);
    CHECK(place.refusal().empty());
    const std::string line = error_of([&] { (void)place.file().matrix(Side::output); });
    CHECK(contains(line, "/b': No such file"));
    CHECK(contains(line, "check job.place"));
    CHECK_FALSE(contains(line, "capacity"));
    CHECK(contains(error_of([&] { (void)place.file().tensor("lm_head.weight", {2, 3}); }), "/b'"));
  }
  SECTION("two have the same tensor") {
    Place place(safetensors({table}), "a");
    place.add("b", safetensors({head, table}));
    place.add("model.safetensors.index.json", map);
    CHECK(contains(place.refusal(), "both 'a' and 'b' have tensor 'wte.weight'"));
    CHECK(place.file().matrix(Side::output)->rows == 2);
  }
  SECTION("one has not what the index says") {
    Place place(safetensors({table}), "a");
    place.add("b", safetensors({{"other", "F32", "[2,3]", 24}}));
    place.add("model.safetensors.index.json", map);
    CHECK(contains(error_of([&] { (void)place.file().matrix(Side::output); }),
                   "'lm_head.weight' is not in 'b'"));
    CHECK(place.file().matrix("other").rows == 2);  // transformers loads it as well
  }
  SECTION("an index of other things") {
    Place place(safetensors({table}), "a");
    place.add("model.safetensors.index.json",
              index_start + R"("wte.weight":"a","x":3,"y":"a\u0000b","z":""}})");
    CHECK(place.refusal().empty());
    for (const char* name : {"x", "y", "z"}) {
      CHECK_FALSE(error_of([&] { (void)place.file().matrix(name); }).empty());
    }
    for (const char* text : {"{}", R"({"weight_map":[]})"}) {
      CHECK(contains(Place(text).refusal(), "weight_map"));
    }
  }
}

TEST_CASE("messages have the keys of the job that asks", "[weights]") {
  CHECK(contains(error_of([&] { WeightFile("nowhere", keys); }), "check job.place"));
  const Place none(safetensors({{"a.weight", "F32", "[2,3]", 24}}));
  CHECK(contains(none.refusal(), "name it in job.input"));
  const Zeros second = {"tok_embeddings.weight", "F32", "[2,3]", 24};
  CHECK(contains(Place(safetensors({table, second})).refusal(), "say which in job.input"));
}

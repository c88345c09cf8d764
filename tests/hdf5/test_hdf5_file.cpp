// HDF5 files: what is written comes back, and no failure leaves less than there was.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <limits>

#include "harness/catch.hpp"
#include "harness/child_process.hpp"
#include "harness/file_fixtures.hpp"
#include "hdf5/file.hpp"
#include "outputs/embedding_file.hpp"

using namespace lexikos;
using namespace fixtures;

namespace {

// Of about 100 kB: attributes, small and large datasets, rows.
void write_sample(const std::string& path, double value) {
  Hdf5Writer file(path);
  file.set_attribute("/", "value", value);
  file.set_attribute("/", "text", std::string(3000, 'x'));
  const std::vector<double> large(5000, value);
  file.write("/a/large", {50, 100}, large.data());
  file.write_extendable("/a/long", large);
  file.create<double>("/rows", {10, 100});
  for (std::int64_t row = 0; row < 10; ++row) file.write_rows("/rows", row, 1, large.data());
  for (int i = 0; i < 50; ++i) {
    const std::string name = "/many/" + std::to_string(i);
    file.write(name, {1}, &value);
    file.set_attribute(name, "number", std::int64_t{i});
  }
  file.commit();
}

double value_of(const std::string& path) {
  const Hdf5Reader file(path);
  for (const double x : file.read<double>("/a/large")) {
    if (x != file.real("/", "value")) return -1;
  }
  if (file.members("/many").size() != 50) return -2;
  return file.read<double>("/rows").back();
}

template <class T>
void check_round_trip(Hdf5Writer& file, const std::string& name, const std::vector<T>& values) {
  file.write("/" + name, {static_cast<std::int64_t>(values.size())}, values.data());
  file.write_extendable("/extendable/" + name, values);
}

template <class T>
void check_values(const Hdf5Reader& file, const std::string& name, const std::vector<T>& values) {
  CHECK(file.read<T>("/" + name) == values);
  CHECK(file.read<T>("/extendable/" + name) == values);
  CHECK(file.info("/" + name).element_bytes == sizeof(T));
  CHECK(file.info("/" + name).mappable_at > 0);
  CHECK(file.info("/extendable/" + name).mappable_at < 0);
}

}  // namespace

TEST_CASE("every element type comes back as it was written") {
  const TemporaryFolder folder;
  const std::string path = folder.file("types.h5");
  const std::vector<float> f = {1.5F, -2.0F, std::numeric_limits<float>::denorm_min(), 3e38F};
  const std::vector<double> d = {0.1, -1e308, std::numeric_limits<double>::infinity()};
  const std::vector<std::int64_t> i = {std::numeric_limits<std::int64_t>::min(), 0, 1};
  const std::vector<std::uint64_t> u = {~std::uint64_t{0}, 1};
  const std::vector<std::uint32_t> u32 = {65536, 0xffffffffU};
  const std::vector<std::uint16_t> u16 = {0, 65535};
  const std::vector<std::uint8_t> u8 = {0, 255, 7};
  const std::vector<std::string> strings = {"", "the", " 你好", "a b"};
  {
    Hdf5Writer file(path);
    check_round_trip(file, "f", f);
    check_round_trip(file, "d", d);
    check_round_trip(file, "i", i);
    check_round_trip(file, "u", u);
    check_round_trip(file, "u32", u32);
    check_round_trip(file, "u16", u16);
    check_round_trip(file, "u8", u8);
    file.write_strings("/strings", strings);
    file.write_strings("/no_strings", {});
    file.write<double>("/nothing", {0}, nullptr);
    file.write("/table", {2, 2}, f.data());
    file.commit();
  }
  const Hdf5Reader file(path);
  check_values(file, "f", f);
  check_values(file, "d", d);
  check_values(file, "i", i);
  check_values(file, "u", u);
  check_values(file, "u32", u32);
  check_values(file, "u16", u16);
  check_values(file, "u8", u8);
  CHECK(file.read_strings("/strings") == strings);
  CHECK(file.read_strings("/no_strings").empty());
  CHECK(file.read<double>("/nothing").empty());
  CHECK(file.info("/table").shape == std::vector<std::int64_t>{2, 2});
  std::vector<float> row(2);
  file.read_rows("/table", 1, 1, row.data());
  CHECK(row == std::vector<float>(f.begin() + 2, f.end()));
  CHECK(contains(error_of([&] { file.read_rows("/table", 1, 2, row.data()); }), "are not in"));
  CHECK(contains(error_of([&] { file.read("/f", row.data(), 2); }), "has 4 elements where 2"));
  CHECK(contains(error_of([&] { (void)file.read<float>("/absent"); }), "no dataset '/absent'"));
}

TEST_CASE("attributes keep their kind, and a wrong kind is named") {
  const TemporaryFolder folder;
  const std::string path = folder.file("attributes.h5");
  const std::string long_text(200000, 'd');  // a resolved deck may be long
  Attributes written;
  written.set("text", "grüße").set("empty", "").set("long", long_text);
  written.set("whole", std::int64_t{-5}).set("real", 0.1).set("text", "again");
  {
    Hdf5Writer file(path);
    file.set_attributes("/", written);
    file.create_group("/group");
    file.set_attribute("/group", "unit", std::string("s"));
    file.commit();
  }
  const Hdf5Reader file(path);
  const Attributes read = file.attributes("/");
  CHECK(read.entries().size() == 5);
  CHECK(read.text("text") == "again");
  CHECK(read.text("empty").empty());
  CHECK(read.text("long") == long_text);
  CHECK(read.integer("whole") == -5);
  CHECK(read.real("real") == 0.1);
  CHECK(read.real("whole") == -5);
  CHECK(file.text("/group", "unit") == "s");
  CHECK(file.has("/group"));
  CHECK_FALSE(file.has("/group/unit"));
  CHECK_FALSE(file.has("/absent/deeper"));
  CHECK_FALSE(file.has_attribute("/absent", "unit"));
  CHECK(contains(error_of([&] { (void)file.integer("/", "real"); }), "not a whole number"));
  CHECK(contains(error_of([&] { (void)file.text("/", "whole"); }), "is a number"));
  CHECK(contains(error_of([&] { (void)file.text("/", "absent"); }), "no attribute 'absent'"));
  CHECK(contains(error_of([&] { (void)read.integer("absent"); }), "'absent' is missing"));
}

TEST_CASE("a writer that does not commit leaves nothing, one that does leaves one file") {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.h5");
  {
    Hdf5Writer file(path);
    file.set_attribute("/", "value", 1.0);
    CHECK_FALSE(std::filesystem::exists(path));
    CHECK(folder.entries() == 1);  // the temporary
  }
  CHECK(folder.entries() == 0);
  write_sample(path, 2);
  CHECK(folder.entries() == 1);
  CHECK(value_of(path) == 2);
}

TEST_CASE("the same content gives the same bytes") {
  const TemporaryFolder folder;
  write_sample(folder.file("a.h5"), 2);
  sleep(1);  // HDF5 would note the second
  write_sample(folder.file("b.h5"), 2);
  CHECK(same_bytes(folder.file("a.h5"), folder.file("b.h5")));
}

TEST_CASE("a folder that is not there or cannot be written is one clear error") {
  const TemporaryFolder folder;
  CHECK(contains(error_of([&] { Hdf5Writer(folder.file("none/a.h5")); }),
                 "cannot write '" + folder.file("none/a.h5") + "': No such file or directory; "));
  write_bytes(folder.file("plain"), "x");
  CHECK(contains(error_of([&] { Hdf5Writer(folder.file("plain/a.h5")); }), "Not a directory"));
  if (geteuid() != 0) {  // root may write anywhere
    std::filesystem::permissions(
        folder.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    CHECK(contains(error_of([&] { Hdf5Writer(folder.file("a.h5")); }), "Permission denied"));
    std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
  }
  std::filesystem::create_directory(folder.file("taken.h5"));
  CHECK(contains(error_of([&] { write_sample(folder.file("taken.h5"), 1); }), "Is a directory"));
  CHECK(folder.entries() == 2);
}

TEST_CASE("a full disk, at whatever write, is an error that leaves the file that was there") {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.h5");
  write_sample(path, 1);
  const std::string before = bytes_of(path);
  for (std::size_t limit = 0; limit < before.size(); limit += 499) {
    std::string text;
    {
      const FileSizeLimit full(limit);
      text = error_of([&] { write_sample(path, 2); });
    }
    INFO("limit " << limit << ": " << text);
    REQUIRE(contains(text, "cannot write '" + path + "': File too large; free space"));
    const bool unchanged = bytes_of(path) == before;
    REQUIRE(unchanged);
    REQUIRE(folder.entries() == 1);
  }
  write_sample(path, 3);  // and the library still works
  CHECK(value_of(path) == 3);
}

TEST_CASE("after a failed write the program still ends with the status of its choice") {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.h5");
  const int status = status_of_child([&] {
    const FileSizeLimit full(30000);
    const std::string text = error_of([&] { write_sample(path, 2); });
    H5close();  // what HDF5 does at exit; it crashes here if a file could not be closed
    _exit(contains(text, "File too large") ? 3 : 1);
  });
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 3);
}

TEST_CASE("a reader that has the file open keeps the old one while a new one takes its place") {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.h5");
  write_sample(path, 1);
  const Hdf5Reader reader(path);
  CHECK(reader.real("/", "value") == 1);
  write_sample(path, 2);
  CHECK(reader.read<double>("/a/large")[4999] == 1);
  CHECK(value_of(path) == 2);
  CHECK(reader.read<double>("/rows").back() == 1);
}

TEST_CASE("a program killed while it writes leaves a whole file") {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.h5");
  write_sample(path, 1);
  for (int round = 0; round < 12; ++round) {
    const pid_t child = start_child([&] {
      for (;;) write_sample(path, 2);
    });
    usleep(static_cast<useconds_t>(500 + 1700 * round));
    kill(child, SIGKILL);
    wait_for(child);
    const double value = value_of(path);
    CHECK((value == 1 || value == 2));
  }
}

TEST_CASE("locks are not asked for unless the user says so") {
  const TemporaryFolder folder;
  write_sample(folder.file("a.h5"), 1);
  REQUIRE(std::getenv("HDF5_USE_FILE_LOCKING") != nullptr);
  const std::string set = std::getenv("HDF5_USE_FILE_LOCKING");
  CHECK_FALSE(set.empty());
}

TEST_CASE("embedding.h5 is written block by block") {
  const TemporaryFolder folder;
  const std::string path = folder.file("embedding.h5");
  const std::int64_t v = 70001;  // blocks of 65,536 rows at D 64
  const std::int64_t d = 64;
  std::vector<std::int64_t> begins;
  const auto table = [&](float sign) {
    return [&, sign](std::int64_t begin, std::int64_t rows, float* out) {
      begins.push_back(begin);
      for (std::int64_t i = 0; i < rows * d; ++i) {
        out[i] = sign * static_cast<float>(begin * d + i);
      }
    };
  };
  Attributes attributes;
  attributes.set("deck", "[a]\nb = 1\n").set("code_version", "test").set("step", 7);
  write_embedding(path, attributes, v, d, table(1), table(-1));
  CHECK(begins == std::vector<std::int64_t>{0, 65536, 0, 65536});

  const Hdf5Reader file(path);
  file.require_format("lexikos-embedding", 1);
  CHECK(file.text("/", "deck") == "[a]\nb = 1\n");
  CHECK(file.info("/input").shape == std::vector<std::int64_t>{v, d});
  CHECK(file.info("/input").element_bytes == 4);
  CHECK(file.info("/output").shape == std::vector<std::int64_t>{v, d});
  const auto input = file.read<float>("/input");
  const auto output = file.read<float>("/output");
  bool right = true;
  for (std::int64_t i = 0; i < v * d; ++i) {
    const auto expected = static_cast<float>(i);
    right = right && input[static_cast<std::size_t>(i)] == expected &&
            output[static_cast<std::size_t>(i)] == -expected;
  }
  CHECK(right);
}

// HDF5 files as other programs and accidents leave them: what is read is right, or it is one line.
#include <hdf5.h>

#include <chrono>
#include <filesystem>
#include <functional>

#include "harness/catch.hpp"
#include "harness/file_fixtures.hpp"
#include "hdf5/file.hpp"
#include "hdf5/signature.hpp"
#include "utils/mapped_file.hpp"

using namespace lexikos;
using namespace fixtures;

namespace {

const std::vector<std::uint16_t> words = {7, 1, 65535, 4, 0, 9};

/// A file made with calls of the library itself.
class Raw {
 public:
  explicit Raw(const std::string& path, hsize_t user_block = 0) {
    const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_userblock(creation, user_block);
    id = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT);
    H5Pclose(creation);
  }
  ~Raw() { H5Fclose(id); }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;

  /// A dataset of `type` and `shape` that `data` (null: none) of memory type `given` goes into.
  void add(const std::string& name, const std::vector<hsize_t>& shape, hid_t type, hid_t given,
           const void* data, const std::function<void(hid_t)>& lay_out = {}) {
    const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    if (lay_out) lay_out(creation);
    const hid_t set = H5Dcreate2(id, name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    if (data != nullptr) H5Dwrite(set, given, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    H5Dclose(set);
    H5Pclose(creation);
    H5Sclose(space);
  }
  void add_words(const std::string& name, const std::function<void(hid_t)>& lay_out = {}) {
    add(name, {6}, H5T_STD_U16LE, H5T_NATIVE_UINT16, words.data(), lay_out);
  }

  hid_t id = -1;
};

std::string read_error(const std::string& path, const std::string& name) {
  return error_of([&] { (void)Hdf5Reader(path).read<std::uint16_t>(name); });
}

std::vector<std::uint16_t> mapped(const std::string& path, const std::string& name) {
  const DatasetInfo info = Hdf5Reader(path).info(name);
  REQUIRE(info.mappable_at >= 0);
  const MappedFile file(path);
  std::vector<std::uint16_t> values;
  for (std::int64_t i = 0; i < info.size(); ++i) {
    values.push_back(
        file.number<std::uint16_t>(static_cast<std::uint64_t>(info.mappable_at + 2 * i)));
  }
  return values;
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

TEST_CASE("links inside a file are followed, links out of it are refused by name") {
  const TemporaryFolder folder;
  const std::string path = folder.file("links.h5"), other = folder.file("other.h5");
  {
    Raw target(other);
    target.add_words("/w");
    Raw file(path);
    H5Gclose(H5Gcreate2(file.id, "/g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    file.add_words("/g/w");
    const auto soft = [&](const char* to, const char* name) {
      H5Lcreate_soft(to, file.id, name, H5P_DEFAULT, H5P_DEFAULT);
    };
    soft("/g", "/of_group");
    soft("of_group/w", "/of_link");
    soft("w", "/g/beside");
    soft("/nowhere", "/dangling");
    soft("/b", "/a");
    soft("/a", "/b");
    soft("/out", "/by_way_of");
    H5Lcreate_external("other.h5", "/w", file.id, "/out", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("other.h5", "/", file.id, "/root_of_other", H5P_DEFAULT, H5P_DEFAULT);
  }
  for (const char* name : {"/g/w", "/of_group/w", "/of_link", "/g/beside", "/of_group/beside"}) {
    INFO(name);
    CHECK(Hdf5Reader(path).read<std::uint16_t>(name) == words);
    CHECK(mapped(path, name) == words);
  }
  const Hdf5Reader file(path);
  CHECK_FALSE(file.has("/dangling"));
  CHECK(contains(read_error(path, "/dangling"), "there is no dataset '/dangling'"));
  CHECK(contains(read_error(path, "/a"), "there is no dataset '/a'"));
  for (const char* name : {"/out", "/by_way_of", "/root_of_other/w"}) {
    INFO(name);
    const std::string text = read_error(path, name);
    CHECK(contains(text, path));
    CHECK(contains(text, "of file 'other.h5'"));
    CHECK_FALSE(file.is_inside(name));
  }
}

TEST_CASE("a dataset is mapped only where its bytes lie in the file as they are in memory") {
  const TemporaryFolder folder;
  const std::string path = folder.file("layouts.h5");
  const auto chunked = [](hid_t creation) {
    const hsize_t chunk = 4;
    H5Pset_chunk(creation, 1, &chunk);
  };
  {
    Raw file(path);
    file.add_words("/plain");
    file.add_words("/compact", [](hid_t c) { H5Pset_layout(c, H5D_COMPACT); });
    file.add_words("/chunked", chunked);
    file.add_words("/checked", [&](hid_t c) {
      chunked(c);
      H5Pset_fletcher32(c);
    });
    file.add("/big_endian", {6}, H5T_STD_U16BE, H5T_NATIVE_UINT16, words.data());
    file.add("/wider", {6}, H5T_STD_I64BE, H5T_NATIVE_UINT16, words.data());
    const hid_t narrow = H5Tcopy(H5T_STD_U32LE);  // 16 bits, from the 8th on
    H5Tset_precision(narrow, 16);
    H5Tset_offset(narrow, 8);
    file.add("/inside", {6}, narrow, H5T_NATIVE_UINT16, words.data());
    H5Tclose(narrow);
  }
  CHECK(mapped(path, "/plain") == words);
  for (const char* name :
       {"/compact", "/chunked", "/checked", "/big_endian", "/wider", "/inside"}) {
    INFO(name);
    const Hdf5Reader file(path);
    CHECK(file.info(name).mappable_at < 0);
    CHECK(file.read<std::uint16_t>(name) == words);
  }
}

TEST_CASE("values that are not there, or not in this file, are refused and never read as zeros") {
  const TemporaryFolder folder;
  const std::string path = folder.file("absent.h5");
  const hsize_t chunk = 4, size = 6;
  {
    Raw file(path);
    file.add("/never", {6}, H5T_STD_U16LE, 0, nullptr);
    file.add("/never_chunked", {6}, H5T_STD_U16LE, 0, nullptr,
             [&](hid_t c) { H5Pset_chunk(c, 1, &chunk); });
    file.add("/half", {6}, H5T_STD_U16LE, 0, nullptr, [&](hid_t c) { H5Pset_chunk(c, 1, &chunk); });
    const hid_t half = H5Dopen2(file.id, "/half", H5P_DEFAULT), rows = H5Dget_space(half);
    const hsize_t begin = 0, count = 3;
    H5Sselect_hyperslab(rows, H5S_SELECT_SET, &begin, nullptr, &count, nullptr);
    const hid_t memory = H5Screate_simple(1, &count, nullptr);
    H5Dwrite(half, H5T_NATIVE_UINT16, memory, rows, H5P_DEFAULT, words.data());
    H5Sclose(memory);
    H5Sclose(rows);
    H5Dclose(half);
    file.add_words("/elsewhere",
                   [&](hid_t c) { H5Pset_external(c, folder.file("raw").c_str(), 0, 12); });
    file.add_words("/filtered", [&](hid_t c) {
      H5Pset_chunk(c, 1, &chunk);
      H5Pset_scaleoffset(c, H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT);
    });
    file.add_words("/source");
    file.add("/virtual", {6}, H5T_STD_U16LE, 0, nullptr, [&](hid_t c) {
      const hid_t space = H5Screate_simple(1, &size, nullptr);
      H5Pset_virtual(c, space, ".", "/source", space);
      H5Sclose(space);
    });
    const hid_t null = H5Screate(H5S_NULL);
    H5Dclose(
        H5Dcreate2(file.id, "/null", H5T_STD_U16LE, null, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(null);
    file.add("/empty", {0}, H5T_STD_U16LE, 0, nullptr);
  }
  CHECK(contains(read_error(path, "/never"), "never written"));
  CHECK(contains(read_error(path, "/never_chunked"), "only in part, 0 of its 2 chunks"));
  CHECK(contains(read_error(path, "/half"), "only in part, 1 of its 2 chunks"));
  CHECK(contains(read_error(path, "/elsewhere"), "external storage"));
  CHECK(contains(read_error(path, "/filtered"), "filter 'scaleoffset'"));
  CHECK(contains(read_error(path, "/virtual"), "virtual dataset"));
  CHECK(contains(read_error(path, "/null"), "has no values"));
  CHECK(Hdf5Reader(path).read<std::uint16_t>("/empty").empty());
  const Hdf5Reader file(path);
  std::vector<std::uint16_t> row(6);
  CHECK(contains(error_of([&] { file.read_rows("/half", 0, 1, row.data()); }), "only in part"));
}

TEST_CASE("numbers are converted without loss, and other types refused by their name") {
  const TemporaryFolder folder;
  const std::string path = folder.file("types.h5");
  const std::vector<std::int64_t> large = {1, std::int64_t{1} << 40}, negative = {1, -1};
  const std::vector<float> real = {1.0F, 2.5F};
  const std::vector<std::uint16_t> two = {1, 2};
  {
    Raw file(path);
    file.add("/large", {2}, H5T_STD_I64LE, H5T_NATIVE_INT64, large.data());
    file.add("/negative", {2}, H5T_STD_I64LE, H5T_NATIVE_INT64, negative.data());
    file.add("/real", {2}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, real.data());
    file.add("/bits", {2}, H5T_STD_B16LE, H5T_NATIVE_B16, two.data());
    const hid_t pair = H5Tcreate(H5T_COMPOUND, 4);
    H5Tinsert(pair, "a", 0, H5T_STD_U16LE);
    H5Tinsert(pair, "b", 2, H5T_STD_U16LE);
    file.add("/pair", {1}, pair, pair, two.data());
    const hid_t named = H5Tenum_create(H5T_STD_U16LE);
    const std::uint16_t one = 1, other = 2;
    H5Tenum_insert(named, "one", &one);
    H5Tenum_insert(named, "two", &other);
    file.add("/named", {2}, named, named, two.data());
    const hsize_t of_two = 2;
    const hid_t array = H5Tarray_create2(H5T_STD_U16LE, 1, &of_two);
    file.add("/array", {1}, array, array, two.data());
    for (const hid_t type : {pair, named, array}) H5Tclose(type);
  }
  CHECK(contains(read_error(path, "/large"), "has a number that is none of uint16"));
  CHECK(contains(read_error(path, "/negative"), "has a number that is none of uint16"));
  CHECK(contains(read_error(path, "/real"), "holds float32 where uint16"));
  CHECK(contains(read_error(path, "/bits"), "holds bit fields"));
  CHECK(contains(read_error(path, "/pair"), "holds records"));
  CHECK(contains(read_error(path, "/named"), "holds named values"));
  CHECK(contains(read_error(path, "/array"), "holds arrays"));
  const Hdf5Reader file(path);
  CHECK(file.read<std::int64_t>("/large") == large);
  CHECK(file.read<std::int64_t>("/negative") == negative);
  CHECK(contains(error_of([&] { (void)file.read<double>("/large"); }), "holds int64"));
  CHECK(contains(error_of([&] { (void)file.read_strings("/real"); }), "holds float32"));
}

TEST_CASE("dimensions other than those expected are refused") {
  const TemporaryFolder folder;
  const std::string path = folder.file("shapes.h5");
  {
    Raw file(path);
    file.add("/cube", {1, 2, 3}, H5T_STD_U16LE, H5T_NATIVE_UINT16, words.data());
    const hid_t scalar = H5Screate(H5S_SCALAR);
    const hid_t set = H5Dcreate2(file.id, "/scalar", H5T_STD_U16LE, scalar, H5P_DEFAULT,
                                 H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(set, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, words.data());
    H5Dclose(set);
    H5Sclose(scalar);
  }
  const Hdf5Reader file(path);
  for (const char* name : {"/cube", "/scalar"}) {
    CHECK(contains(error_of([&] { (void)file.read_list<std::uint16_t>(name); }),
                   "dimensions where a list is expected"));
  }
  CHECK(file.read<std::uint16_t>("/cube") == words);
  CHECK(file.info("/scalar").shape.empty());
  std::vector<std::uint16_t> row(6);
  CHECK(contains(error_of([&] { file.read_rows("/scalar", 0, 1, row.data()); }), "are not in"));
}

TEST_CASE("attributes of any make are read right or refused by name") {
  const TemporaryFolder folder;
  const std::string path = folder.file("attributes.h5");
  {
    Raw file(path);
    const auto add = [&](const char* name, hid_t type, const std::vector<hsize_t>& shape,
                         hid_t memory, const void* data) {
      const hid_t space =
          shape.empty() ? H5Screate(H5S_SCALAR)
                        : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
      const hid_t attribute = H5Acreate2(file.id, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
      H5Awrite(attribute, memory, data);
      H5Aclose(attribute);
      H5Sclose(space);
    };
    const hid_t full = H5Tcopy(H5T_C_S1);  // no room for a NUL
    H5Tset_size(full, 3);
    H5Tset_strpad(full, H5T_STR_NULLPAD);
    add("full", full, {}, full, "abc");
    add("list", H5T_STD_I32LE, {3}, H5T_NATIVE_UINT16, words.data());
    add("one", H5T_STD_I32BE, {1, 1}, H5T_NATIVE_UINT16, words.data());
    const std::uint64_t huge = ~std::uint64_t{0};
    add("huge", H5T_STD_U64LE, {}, H5T_NATIVE_UINT64, &huge);
    const hid_t many = H5Tvlen_create(H5T_STD_I32LE);
    hvl_t none{0, nullptr};
    add("many", many, {}, many, &none);
    H5Tclose(full);
    H5Tclose(many);
  }
  const Hdf5Reader file(path);
  CHECK(file.text("/", "full") == "abc");
  CHECK(file.integer("/", "one") == 7);
  for (const char* name : {"list", "huge", "many"}) {
    CHECK(contains(error_of([&] { (void)file.attribute("/", name); }),
                   "attribute '" + std::string(name) + "' of '/' is neither"));
  }
  CHECK(file.attributes("/").entries().size() == 2);
}

TEST_CASE("a file behind a user block is read right") {
  const TemporaryFolder folder;
  for (const hsize_t block : {512, 1024, 8192}) {
    const std::string path = folder.file("block" + std::to_string(block) + ".h5");
    {
      Raw file(path, block);
      file.add_words("/w");
    }
    CHECK(hdf5_begin(MappedFile(path)) == std::uint64_t{block});
    CHECK(Hdf5Reader(path).read<std::uint16_t>("/w") == words);
    CHECK(mapped(path, "/w") == words);
  }
}

TEST_CASE("one changed bit in an extent is refused, whichever it is") {
  const TemporaryFolder folder;
  const std::string path = folder.file("extent.h5"), changed = folder.file("changed.h5");
  const hsize_t size = 0x1234;
  const std::vector<std::uint16_t> many(size, 3);
  const hsize_t chunk = 0x100;
  std::size_t spare_bits = 0;
  SECTION("contiguous") {
    Raw(path).add("/w", {size}, H5T_STD_U16LE, H5T_NATIVE_UINT16, many.data());
  }
  SECTION("chunked") {
    spare_bits = 8;
    Raw(path).add("/w", {size}, H5T_STD_U16LE, H5T_NATIVE_UINT16, many.data(), [&](hid_t c) {
      H5Pset_chunk(c, 1, &chunk);
      H5Pset_deflate(c, 4);
    });
  }
  SECTION("texts") {
    const hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, 2);
    Raw(path).add("/w", {size}, text, text, many.data());
    H5Tclose(text);
  }
  const std::string whole = bytes_of(path);
  const std::string extent("\x34\x12\0\0\0\0\0\0", 8);
  const bool is_text = Hdf5Reader(path).info("/w").kind == DatasetInfo::Kind::string;
  const std::size_t at = whole.find(extent);
  REQUIRE(at != std::string::npos);
  for (std::size_t bit = 0; bit < 64; ++bit) {
    std::string bytes = whole;
    bytes[at + bit / 8] = static_cast<char>(bytes[at + bit / 8] ^ (1 << bit % 8));
    write_bytes(changed, bytes);
    INFO("bit " << bit << " of the extent at byte " << at);
    const std::string text = error_of([&] {
      const Hdf5Reader file(changed);
      if (is_text) {
        (void)file.read_strings("/w");
      } else {
        (void)file.read<std::uint16_t>("/w");
      }
    });
    // Of a chunked dataset that ends within its last chunk fewer or more may be as whole.
    if (text.empty()) CHECK(bit < spare_bits);
  }
}

TEST_CASE("a sealed file that was changed anywhere never reaches HDF5") {
  const TemporaryFolder folder;
  const std::string path = folder.file("sealed.h5");
  {
    Hdf5Writer file(path);
    file.set_attribute("/", "format", std::string("lexikos-test"));
    file.set_attribute("/", "format_version", std::int64_t{1});
    file.write_strings("/texts", std::vector<std::string>(500, "of some length"));
    file.commit();
  }
  CHECK_NOTHROW(Hdf5Reader(path).require_format("lexikos-test", 1, 1));
  const std::string whole = bytes_of(path);
  for (std::size_t at = 0; at + 32 < whole.size(); at += 512) {
    std::string bytes = whole;
    const std::size_t end = std::min(at + 512, whole.size() - 32);
    if (bytes.substr(at, end - at) == std::string(end - at, '\0')) continue;
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(at),
              bytes.begin() + static_cast<std::ptrdiff_t>(end), '\0');
    write_bytes(path, bytes);
    std::string text;
    CHECK(seconds_of([&] { text = error_of([&] { (void)Hdf5Reader(path); }); }) < 1);
    CHECK(contains(text, "do not have the checksum"));
  }
  // Without its seal it is as a file of another program, and its format wants one.
  write_bytes(path, whole.substr(0, whole.size() - 32));
  CHECK_NOTHROW(Hdf5Reader(path).require_format("lexikos-test", 1));
  CHECK(contains(error_of([&] { Hdf5Reader(path).require_format("lexikos-test", 1, 1); }),
                 "has no checksum at its end"));
}

TEST_CASE("a file on which the library crashes or has no end is one line") {
  const TemporaryFolder folder;
  const std::string path = folder.file("texts.h5");
  {
    Raw file(path);
    const hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, H5T_VARIABLE);
    const std::vector<const char*> texts(300, "a text of some length");
    file.add("/texts", {texts.size()}, text, text, texts.data());
    H5Tclose(text);
  }
  CHECK(Hdf5Reader(path).read_strings("/texts").size() == 300);
  const std::string whole = bytes_of(path);
  const std::size_t heap = whole.find("GCOL");
  REQUIRE(heap != std::string::npos);
  std::string emptied = whole;
  std::fill_n(emptied.begin() + static_cast<std::ptrdiff_t>(heap) + 16, 2000, '\0');
  write_bytes(path, emptied);
  const auto open_and_read = [&] { (void)Hdf5Reader(path).read_strings("/texts"); };
  std::string text;
  CHECK(seconds_of([&] { text = error_of(open_and_read); }) < 20);
  INFO(text);
  CHECK(contains(text, path));
  // Sizes of objects in it, of all kinds.
  for (const int size : {0x7f, 0x80, 0xff}) {
    std::string bytes = whole;
    for (std::size_t k = 0; k < 7; ++k) bytes[heap + 16 + 8 + k] = static_cast<char>(size);
    write_bytes(path, bytes);
    CHECK(contains(error_of(open_and_read), path));
  }
}

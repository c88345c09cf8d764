// Token files and synthetic tokens: what is read, and every way in which a file can be wrong.
#include <cmath>
#include <filesystem>
#include <numeric>

#include "data/batches/windows.hpp"
#include "data/tokens/synthetic_tokens.hpp"
#include "data/tokens/token_file.hpp"
#include "data/tokens/token_scan.hpp"
#include "data/tokens/unigram.hpp"
#include "harness/catch.hpp"
#include "harness/file_fixtures.hpp"

using namespace lexikos;
using namespace fixtures;

namespace {

std::vector<TokenId> all_of(const TokenSource& source) {
  std::vector<TokenId> ids(static_cast<std::size_t>(source.size()));
  source.read(0, source.size(), ids.data());
  return ids;
}

std::string open_error(const std::string& path, const std::string& split = "train") {
  return error_of([&] { TokenFile(path, split); });
}

}  // namespace

TEST_CASE("ids of 16 and 32 bits are mapped and read as they were written") {
  const TemporaryFolder folder;
  const std::string path = folder.file("tokens.h5");

  SECTION("uint16, with attributes") {
    std::vector<std::uint16_t> ids(1000);
    std::iota(ids.begin(), ids.end(), std::uint16_t{64536});
    write_tokens(path, 65536, ids);
    const TokenFile file(path, "train");
    CHECK(file.mapped());
    CHECK(file.size() == 1000);
    CHECK(file.vocabulary_size() == 65536);
    CHECK(all_of(file) == std::vector<TokenId>(ids.begin(), ids.end()));
    CHECK(file.text_info().tokenizer == "bytes");
    CHECK(file.text_info().tokenizer_hash == "0123abcd");
    CHECK(file.text_info().end_of_text == 65535);
    CHECK(file.text_info().source_bytes == 1000);
    CHECK(file.text_info().source_words == 200);
    CHECK(file.text_info().documents == 3);
    CHECK_NOTHROW(check_ids(file));
    TokenId one = 0;
    file.read(999, 1, &one);
    CHECK(one == 65535);
    CHECK(contains(error_of([&] { file.read(999, 2, &one); }), "which has 1000"));
    CHECK(contains(error_of([&] { file.read(-1, 1, &one); }), "are not in"));
  }

  SECTION("uint32, past 65,535") {
    const std::vector<std::uint32_t> ids = {0, 65535, 65536, 65537, 199999};
    write_tokens(path, 200000, ids, "validation");
    const TokenFile file(path, "validation");
    CHECK(file.mapped());
    CHECK(all_of(file) == ids);
    CHECK_NOTHROW(check_ids(file));
  }

  SECTION("an empty split") {
    write_tokens(path, 10, std::vector<std::uint16_t>());
    const TokenFile file(path, "train");
    CHECK(file.size() == 0);
    CHECK_NOTHROW(check_ids(file));
    CHECK(contains(error_of([&] { window_count(file, 4); }), "prepare more text"));
  }
}

TEST_CASE("layouts that cannot be mapped are read through HDF5, with the same ids") {
  const TemporaryFolder folder;
  const std::string path = folder.file("tokens.h5");
  std::vector<std::uint32_t> ids(100);
  for (std::uint32_t i = 0; i < 100; ++i) ids[i] = i * 77 % 251;

  const auto check = [&](const Layout& layout, bool mapped) {
    write_tokens_as(path, 251, ids, layout);
    const TokenFile file(path, "train");
    CHECK(file.mapped() == mapped);
    CHECK(all_of(file) == ids);
    std::vector<TokenId> part(23);
    file.read(40, 23, part.data());
    CHECK(part == std::vector<TokenId>(ids.begin() + 40, ids.begin() + 63));
    CHECK(file.text_info().tokenizer == "bytes");
    CHECK(file.text_info().source_bytes == -1);
    CHECK(file.train_counts() == count_tokens(file));
  };
  Layout layout;
  SECTION("contiguous") { check(layout, true); }
  SECTION("oldest file format, text of fixed length") {
    layout.earliest = true;
    layout.old_strings = true;
    check(layout, true);
  }
  SECTION("chunked") {
    layout.chunked = true;
    check(layout, false);
  }
  SECTION("compressed") {
    layout.compressed = true;
    check(layout, false);
  }
  SECTION("bytes in the other order") {
    layout.disk_type = H5T_STD_U32BE;
    check(layout, false);
  }
}

TEST_CASE("a file that is no token file is refused in one line with its name") {
  const TemporaryFolder folder;
  const std::string path = folder.file("tokens.h5");
  const auto check = [&](const std::string& part, const std::string& split = "train") {
    const std::string text = open_error(path, split);
    INFO(text);
    CHECK(contains(text, path));
    CHECK(contains(text, part));
  };
  const std::vector<std::uint16_t> ids = {1, 2, 3};

  SECTION("missing") { check("No such file or directory; prepare it"); }
  SECTION("a folder") {
    std::filesystem::create_directory(path);
    check("it is a folder");
  }
  SECTION("empty") {
    write_bytes(path, "");
    check("the file is empty");
  }
  SECTION("text") {
    write_bytes(path, "Once upon a time\n");
    check("not an HDF5 file");
  }
  SECTION("no format") {
    Hdf5Writer(path).commit();
    check("no lexikos-tokens file (it has no attribute 'format')");
  }
  SECTION("another format") {
    Hdf5Writer file(path);
    file.set_attribute("/", "format", std::string("lexikos-history"));
    file.commit();
    check("it is a 'lexikos-history' file where 'lexikos-tokens' is expected");
  }
  SECTION("newer") {
    Hdf5Writer file(path);
    write_token_root(file, 10, 2);
    file.commit();
    check("format version is 2 and this program reads up to 1; use a newer lexikos");
  }
  SECTION("no such split") {
    write_tokens(path, 10, ids);
    check("there is no dataset '/validation'", "validation");
  }
  SECTION("wrong vocabulary size") {
    write_tokens(path, 0, ids);
    check("vocabulary_size 0");
  }
  SECTION("signed, real or two-dimensional ids") {
    Hdf5Writer file(path);
    write_token_root(file, 10);
    const std::int64_t whole[] = {1, 2};
    const float real[] = {1, 2};
    file.write("/signed", {2}, whole);
    file.write("/real", {2}, real);
    file.write("/pairs", {1, 2}, ids.data());
    file.write("/bytes", {2}, reinterpret_cast<const std::uint8_t*>(ids.data()));
    file.commit();
    for (const char* split : {"signed", "real", "pairs", "bytes"}) {
      check("is not a list of uint16 or uint32", split);
    }
  }
}

TEST_CASE("a truncated token file is refused wherever it was cut") {
  const TemporaryFolder folder;
  const std::string path = folder.file("tokens.h5");
  const std::string cut = folder.file("cut.h5");
  std::vector<std::uint32_t> ids(3000, 7);

  SECTION("any number of bytes") {
    write_tokens_as(path, 10, ids, {});
    const std::string bytes = bytes_of(path);
    for (std::size_t size = 0; size < bytes.size(); size += 97) {
      write_bytes(cut, bytes.substr(0, size));
      const std::string text = open_error(cut);
      INFO(size << " bytes: " << text);
      CHECK(contains(text, cut));
    }
    write_bytes(cut, bytes.substr(0, bytes.size() - 1));
    CHECK(contains(open_error(cut), "damaged or truncated"));
  }
  SECTION("the library is satisfied and the ids are not all there") {
    Layout oldest;
    oldest.earliest = true;
    write_tokens_as(path, 10, ids, oldest);
    std::string bytes = bytes_of(path);
    // Superblock version 0 states the end of the file at byte 40, without a checksum.
    const std::size_t size = bytes.size() - 1000;
    for (std::size_t i = 0; i < 8; ++i) bytes[40 + i] = static_cast<char>(size >> (8 * i));
    write_bytes(cut, bytes.substr(0, size));
    const std::string text = open_error(cut);
    INFO(text);
    CHECK(contains(text, "truncated"));
  }
}

TEST_CASE("an id that is not below the vocabulary size is named with file, dataset and offset") {
  const TemporaryFolder folder;
  const std::string path = folder.file("tokens.h5");
  std::vector<std::uint32_t> ids(200000, 3);
  ids[70123] = 65536;
  write_tokens(path, 65536, ids);
  const TokenFile file(path, "train");
  const std::string text = error_of([&] { check_ids(file); });
  CHECK(contains(text, "token id 65536 at offset 70123 of '" + path + ":/train'"));
  CHECK(contains(text, "vocabulary size 65536"));
  CHECK_NOTHROW(check_ids(file, 0, 70123));
  CHECK_NOTHROW(check_ids(file, 70124));
  CHECK(contains(error_of([&] { (void)file.train_counts(); }), "offset 70123"));
}

TEST_CASE("training counts come from the file or from the ids") {
  const TemporaryFolder folder;
  const std::string path = folder.file("tokens.h5");
  const std::vector<std::uint16_t> ids = {0, 2, 2, 1, 2};
  const auto write = [&](const std::vector<std::uint64_t>& counts) {
    Hdf5Writer file(path);
    write_token_root(file, 4);
    file.write("/train", {5}, ids.data());
    file.write("/validation", {2}, ids.data());
    if (!counts.empty()) {
      file.write("/train_counts", {static_cast<std::int64_t>(counts.size())}, counts.data());
    }
    file.commit();
  };
  const std::vector<std::uint64_t> right = {1, 1, 3, 0};
  write({});
  CHECK(TokenFile(path, "train").train_counts() == right);
  CHECK(TokenFile(path, "validation").train_counts() == right);
  write(right);
  CHECK(TokenFile(path, "validation").train_counts() == right);
  write({1, 1, 3});
  CHECK(contains(error_of([&] { (void)TokenFile(path, "train").train_counts(); }), "3 entries"));
  write({1, 1, 2, 0});
  CHECK(contains(error_of([&] { (void)TokenFile(path, "train").train_counts(); }),
                 "its sum is not the 5 tokens"));
}

TEST_CASE("synthetic tokens are a pure function of their index") {
  for (const auto law : {SyntheticTokens::Law::zipf, SyntheticTokens::Law::uniform}) {
    const SyntheticTokens source(1000, 50000, 5, law);
    const std::vector<TokenId> whole = all_of(source);
    std::vector<TokenId> pieces;
    for (Index at = 0; at < source.size(); at += 777) {
      const Index count = std::min<Index>(777, source.size() - at);
      std::vector<TokenId> piece(static_cast<std::size_t>(count));
      source.read(at, count, piece.data());
      pieces.insert(pieces.end(), piece.begin(), piece.end());
    }
    CHECK(pieces == whole);
    CHECK(all_of(SyntheticTokens(1000, 50000, 6, law)) != whole);

    const auto counts = count_tokens(source);
    // Zipf: weight log(2) / log(1001) of the first id; uniform: 1 / 1000.
    const double expected =
        50000 * (law == SyntheticTokens::Law::zipf ? std::log(2.0) / std::log(1001.0) : 1.0 / 1000);
    CHECK(std::abs(static_cast<double>(counts[0]) - expected) < 5 * std::sqrt(expected));
  }
  CHECK(all_of(SyntheticTokens(1, 5, 0)) == std::vector<TokenId>(5, 0));
  CHECK(!error_of([] { SyntheticTokens(0, 5, 0); }, Status::deck).empty());
}

TEST_CASE("the unigram cross entropy is that of the training frequencies") {
  const std::vector<std::uint64_t> counts = {4, 2, 2};  // the vocabulary has a fourth, padded id
  const double limit = 12 * 0x1p-53;  // sums of three logarithms, made in two ways: 2 (3 + 3) u
  const UnigramEntropy seen = unigram_cross_entropy(counts, {3, 1, 2, 0});
  CHECK(seen.nats == Approx((3 * std::log(2.0) + 3 * std::log(4.0)) / 6).epsilon(limit));
  CHECK(contains(seen.definition, "as counted"));

  const UnigramEntropy unseen = unigram_cross_entropy(counts, {1, 1, 1, 1});
  CHECK(unseen.nats ==
        Approx(-(std::log(5.0 / 12) + 2 * std::log(3.0 / 12) + std::log(1.0 / 12)) / 4)
            .epsilon(limit));
  CHECK(contains(unseen.definition, "one added"));

  CHECK(!error_of([&] { unigram_cross_entropy(counts, {0, 0, 0, 0}); }).empty());
  CHECK(!error_of([&] { unigram_cross_entropy(counts, {1, 2}); }).empty());
}

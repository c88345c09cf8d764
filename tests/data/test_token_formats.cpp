// Token files of every format through one interface: read, recognised, refused.
#include <algorithm>
#include <functional>
#include <limits>

#include "data/tokens/concatenated_tokens.hpp"
#include "data/tokens/token_formats.hpp"
#include "data/tokens/token_scan.hpp"
#include "harness/batch_checks.hpp"
#include "harness/binary_fixtures.hpp"
#include "harness/catch.hpp"
#include "harness/file_fixtures.hpp"

using namespace lexikos;
using namespace fixtures;

namespace {

using Ids = std::vector<TokenId>;

Ids all_of(const TokenSource& source) {
  Ids ids(static_cast<std::size_t>(source.size()));
  source.read(0, source.size(), ids.data());
  return ids;
}

/// One way to store ids: writes them and returns the path to open.
struct Writer {
  std::string name;
  std::string format = "auto";  // the deck's
  TokenId largest = 0;          // that the type holds
  std::function<std::string(const TemporaryFolder&, const Ids&)> write;
};

template <class Word>
Writer megatron(const std::string& type, int code) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<Word>::max());
  return {"Megatron, " + type, "auto",
          static_cast<TokenId>(std::min(most, std::uint64_t{4294967295u})),
          [code](const TemporaryFolder& folder, const Ids& ids) {
            write_megatron<Word>(folder.file("m"), ids, code);
            return folder.file("m.bin");
          }};
}

std::vector<Writer> writers() {
  const auto h5 = [](const Layout& layout) {
    return [layout](const TemporaryFolder& folder, const Ids& ids) {
      write_tokens_as(folder.file("t.h5"), 200000, ids, layout);
      return folder.file("t.h5");
    };
  };
  Layout mapped, chunked;
  mapped.disk_type = chunked.disk_type = H5T_STD_U32LE;
  chunked.chunked = true;
  return {{"nanoGPT, uint16", "nanogpt", 65535,
           [](const TemporaryFolder& folder, const Ids& ids) {
             write_nanogpt(folder.file("n.bin"), ids);
             return folder.file("n.bin");
           }},
          {"llm.c, uint16", "auto", 65535,
           [](const TemporaryFolder& folder, const Ids& ids) {
             write_llmc<std::uint16_t>(folder.file("l.bin"), ids);
             return folder.file("l.bin");
           }},
          {"llm.c, uint32", "auto", 4294967295u,
           [](const TemporaryFolder& folder, const Ids& ids) {
             write_llmc<std::uint32_t>(folder.file("w.bin"), ids);
             return folder.file("w.bin");
           }},
          megatron<std::uint8_t>("uint8", 1),
          megatron<std::int8_t>("int8", 2),
          megatron<std::int16_t>("int16", 3),
          megatron<std::int32_t>("int32", 4),
          megatron<std::int64_t>("int64", 5),
          megatron<std::uint16_t>("uint16", 8),
          {"tokens.h5, mapped", "auto", 4294967295u, h5(mapped)},
          {"tokens.h5, through HDF5", "auto", 4294967295u, h5(chunked)}};
}

std::unique_ptr<TokenSource> open(const std::string& path, const std::string& format = "auto",
                                  Index vocabulary = 200000, Index end_of_text = -1) {
  return open_tokens(path, "train", {format, vocabulary, end_of_text});
}

std::string open_error(const std::string& path, const std::string& format = "auto") {
  return error_of([&] { (void)open(path, format); });
}

}  // namespace

TEST_CASE("every format gives back the ids that were written, at any place") {
  for (const Writer& writer : writers()) {
    INFO(writer.name);
    const TemporaryFolder folder;
    Ids ids = counting_ids(100);
    if (writer.largest >= 65536) ids[40] = 65536;
    if (writer.largest >= 65536) ids[41] = 199999;
    if (writer.largest == 65535) ids[40] = 65535;
    const auto source = open(writer.write(folder, ids), writer.format);
    CHECK(source->format() == writer.name);
    CHECK(source->size() == 100);
    CHECK(source->vocabulary_size() == 200000);
    CHECK(all_of(*source) == ids);
    Ids part(7);
    source->read(38, 7, part.data());
    CHECK(part == Ids(ids.begin() + 38, ids.begin() + 45));
    CHECK_NOTHROW(check_ids(*source));
    CHECK(count_tokens(*source)[ids[40]] == 1);
    CHECK(contains(error_of([&] { source->read(95, 6, part.data()); }), "tokens 95 to 101"));
    CHECK(source->reads_on_any_thread() == (writer.name != "tokens.h5, through HDF5"));
    CHECK(source->files().size() == (contains(writer.name, "Megatron") ? 2 : 1));
  }
}

TEST_CASE("in every format ranks read every window once an epoch and none of them twice") {
  for (const Writer& writer : writers()) {
    INFO(writer.name);
    for (const EpochCase& c : epoch_cases()) {
      if (writer.name == "tokens.h5, through HDF5" && c.tokens < 16) continue;  // its chunks are 16
      const TemporaryFolder folder;
      check_every_window_once(*open(writer.write(folder, counting_ids(c.tokens)), writer.format),
                              c);
    }
  }
}

TEST_CASE("shards end to end are one text: no window is lost at their edges") {
  const TemporaryFolder folder;
  for (const EpochCase& c : epoch_cases()) {
    const Ids ids = counting_ids(c.tokens);
    const auto cut = [&](Index a, Index b) { return Ids(ids.begin() + a, ids.begin() + b); };
    write_llmc<std::uint16_t>(folder.file("a.bin"), cut(0, 3));
    write_megatron<std::int32_t>(folder.file("b"), cut(3, 8), 4);
    write_llmc<std::uint32_t>(folder.file("c.bin"), cut(8, c.tokens));
    std::vector<std::unique_ptr<TokenSource>> shards;
    for (const char* name : {"a.bin", "b.bin", "c.bin"}) shards.push_back(open(folder.file(name)));
    const ConcatenatedTokens all(std::move(shards), true);
    CHECK(all_of(all) == ids);
    CHECK(all.files().size() == 4);
    check_every_window_once(all, c);
  }
}

TEST_CASE("windows that do not cross shards begin anew in each") {
  const TemporaryFolder folder;
  std::vector<std::unique_ptr<TokenSource>> shards;
  const std::vector<Index> sizes = {20, 5, 33, 16};  // T 8: 2, 0, 4 and 1 windows
  for (const Index size : sizes) {
    const std::string path = folder.file(std::to_string(size) + ".bin");
    write_nanogpt(path, counting_ids(size));
    shards.push_back(open(path, "nanogpt"));
  }
  const ConcatenatedTokens all(std::move(shards), false);
  const Windows windows(all, 8);
  std::vector<Index> begins;
  for (Index w = 0; w < windows.count(); ++w) begins.push_back(windows.begin(w));
  CHECK(begins == std::vector<Index>{0, 8, 25, 33, 41, 49, 58});
  BatchLoader loader(all, {.T = 8, .sequences = 7, .micro_sequences = 3}, 5);
  Positions positions = positions_of(loader.load(0));
  REQUIRE(positions.ids.size() == 56);
  for (std::size_t n = 0; n < 56; ++n) {  // no target comes from the next shard
    CHECK(positions.targets[n] == positions.ids[n] + 1);
  }
  CHECK(contains(all.place(57), "offset 32 of '" + folder.file("33.bin") + "' (byte 64)"));
}

TEST_CASE("an id that is not below the vocabulary size is named with file and offset") {
  for (const Writer& writer : writers()) {
    if (contains(writer.name, "h5")) continue;  // states its own vocabulary: test_token_file.cpp
    INFO(writer.name);
    const TemporaryFolder folder;
    Ids ids(50, 3);
    ids[31] = 100;
    const std::string path = writer.write(folder, ids);
    const auto source = open(path, writer.format, 100);
    const std::string text = error_of([&] { check_ids(*source); });
    CHECK(contains(text, "token id 100 at offset 31 of '" + path + "' (byte "));
    BatchLoader loader(*source, {.T = 7, .sequences = 7, .micro_sequences = 7}, 0);
    CHECK(contains(error_of([&] { loader.load(0); }), "token id 100 at offset 31"));
    CHECK_NOTHROW(check_ids(*open(path, writer.format, 101)));
  }
  const TemporaryFolder folder;
  for (const std::int64_t bad : {std::int64_t{-1}, (std::int64_t{1} << 32) + 3}) {
    const std::vector<std::int64_t> ids = {1, 2, bad, 3};
    write_megatron<std::int64_t>(folder.file("m"), ids, 5);
    const auto source = open(folder.file("m.bin"), "auto", 100);
    CHECK(contains(
        error_of([&] { check_ids(*source); }),
        "below 0 or past 2^32 - 2 at offset 2 of '" + folder.file("m.bin") + "' (byte 16)"));
  }
  write_megatron<std::int32_t>(folder.file("m"), std::vector<int>{1, -5, 3}, 4);
  CHECK(contains(error_of([&] { check_ids(*open(folder.file("m.bin"))); }), "at offset 1 of"));
}

TEST_CASE("a format is recognised by content and never guessed") {
  const TemporaryFolder folder;
  const Ids ids = counting_ids(60);
  const std::string raw = folder.file("raw.bin");
  write_nanogpt(raw, ids);
  CHECK(contains(open_error(raw), "format = \"nanogpt\""));
  CHECK(open_error(raw, "nanogpt").empty());

  write_llmc<std::uint16_t>(folder.file("named.h5"), ids);
  CHECK(open(folder.file("named.h5"))->format() == "llm.c, uint16");
  CHECK(contains(open_error(folder.file("named.h5"), "nanogpt"), "it is a llm.c file"));

  write_megatron<std::uint16_t>(folder.file("m"), ids, 8);
  CHECK(open(folder.file("m.idx"))->name() == folder.file("m.bin"));
  CHECK(contains(open_error(folder.file("m.bin"), "nanogpt"), "it is a Megatron file"));
  write_bytes(folder.file("raw.idx"), "another program's index");
  CHECK(contains(open_error(raw, "nanogpt"), "is none of Megatron's"));
  std::filesystem::remove(folder.file("raw.idx"));

  CHECK(contains(error_of([&] { (void)open(folder.file("m.bin"), "auto", 0); }, Status::deck),
                 "data.vocabulary_size is needed: '" + folder.file("m.bin") + "'"));
  CHECK(contains(error_of([&] { (void)open(raw, "nanogpt", 50, 50); }, Status::deck),
                 "data.end_of_text = 50 is not below"));
  CHECK(contains(open_error(folder.file("none.bin")), "none.bin': No such file"));
  write_bytes(folder.file("empty.bin"), "");
  CHECK(contains(open_error(folder.file("empty.bin"), "nanogpt"), "empty"));
}

TEST_CASE("sizes that disagree with a header, and truncated files, are named with the offset") {
  const TemporaryFolder folder;
  const std::string path = folder.file("t.bin");
  const Ids ids = counting_ids(60);

  write_bytes(path, Bytes().add_all<std::uint16_t>(ids).text().substr(1));
  CHECK(contains(open_error(path, "nanogpt"), "truncated at offset 119"));

  write_llmc<std::uint16_t>(path, ids, 61);
  CHECK(contains(open_error(path),
                 "counts 61 tokens, which with it take 1146 bytes and the file "
                 "has 1144: it is truncated at offset 1144"));
  write_llmc<std::uint16_t>(path, ids, 59);
  CHECK(contains(open_error(path), "from offset 1142 on it is no part"));
  write_llmc<std::uint32_t>(path, ids, 0);
  CHECK(contains(open_error(path), "counts 0 tokens"));
  write_llmc<std::uint32_t>(path, ids);
  const std::string llmc = bytes_of(path);
  write_bytes(path, llmc.substr(0, 700));
  CHECK(contains(open_error(path), "truncated at offset 700"));
  write_bytes(path, std::string(llmc).replace(4, 1, "\x01"));
  CHECK(contains(open_error(path), "version 1 (offset 4)"));
}

TEST_CASE("a Megatron index that is damaged or belongs to another file is refused") {
  const TemporaryFolder folder;
  const Ids ids = counting_ids(60);
  write_megatron<std::uint16_t>(folder.file("m"), ids, 8, 25);  // 25, 25, 10
  const std::string bin = folder.file("m.bin"), idx = folder.file("m.idx");
  const std::string whole = bytes_of(idx);
  const auto error_with = [&](std::size_t at, const std::string& bytes) {
    write_bytes(idx, std::string(whole).replace(at, bytes.size(), bytes));
    return open_error(bin);
  };
  CHECK(error_with(0, "M").empty());  // unharmed
  CHECK(contains(error_with(9, "\x02"), "version 2 (offset 9)"));
  CHECK(contains(error_with(9, std::string("\0\0\0\0\0\0\0\1", 8)), "big-endian"));
  CHECK(contains(error_with(17, "\x07"), "(offset 17) has the code 7"));
  CHECK(contains(error_with(17, "\x04"), "not at"));  // int32: the pointers are then wrong
  CHECK(contains(error_with(18, "\x04"), "4 sequences (offset 18)"));
  CHECK(contains(error_with(18, std::string(8, '\xff')), "damaged or truncated"));
  CHECK(contains(error_with(26, std::string(8, '\x7f')), "(offset 26)"));
  CHECK(contains(error_with(34, "\x18"), "sequence 1 begins at byte 50"));
  CHECK(contains(error_with(46 + 8, "\x34"), "(offset 54) and not at 50"));
  CHECK(contains(error_with(70 + 8, "\x09"), "document begins at sequence 9 (offset 78)"));
  write_bytes(idx, whole.substr(0, whole.size() - 1));
  CHECK(contains(open_error(bin), "and the file has " + std::to_string(whole.size() - 1)));
  write_bytes(idx, whole.substr(0, 20));
  CHECK(contains(open_error(bin), "truncated at offset 20"));
  write_bytes(idx, whole);
  write_bytes(bin, bytes_of(bin).substr(0, 100));
  CHECK(contains(open_error(bin),
                 "counts 60 tokens, which take 120 bytes and the file has 100: it "
                 "is truncated at offset 100"));
}

TEST_CASE("where documents begin: by index, by end of text, across shards") {
  const TemporaryFolder folder;
  const auto starts_of = [](const TokenSource& source, Index begin, Index count) {
    Ids ids(static_cast<std::size_t>(count));
    source.read(begin, count, ids.data());
    std::vector<Index> starts;
    source.document_starts(begin, count, ids.data(), starts);
    return starts;
  };
  using Places = std::vector<Index>;
  const Ids ids = {5, 6, 9, 7, 9, 9, 8, 5};

  write_nanogpt(folder.file("n.bin"), ids);
  CHECK_FALSE(open(folder.file("n.bin"), "nanogpt")->knows_documents());
  const auto raw = open(folder.file("n.bin"), "nanogpt", 10, 9);
  CHECK(raw->knows_documents());
  CHECK(starts_of(*raw, 0, 8) == Places{3, 5, 6});
  CHECK(starts_of(*raw, 2, 3) == Places{1});
  CHECK(starts_of(*raw, 3, 5) == Places{2, 3});

  // Sequences of 2, 0, 3 and 3 tokens; two documents of two sequences each.
  Bytes bytes;
  bytes.add(std::string("MMIDIDX\0\0", 9)).add<std::uint64_t>(1).add<std::uint8_t>(8);
  bytes.add<std::uint64_t>(4).add<std::uint64_t>(3);
  bytes.add_all<std::int32_t>(std::vector<int>{2, 0, 3, 3});
  bytes.add_all<std::int64_t>(std::vector<int>{0, 4, 4, 10});
  bytes.add_all<std::int64_t>(std::vector<int>{0, 2, 4}).write(folder.file("n.idx"));
  const auto indexed = open(folder.file("n.bin"), "auto", 10);
  CHECK(indexed->text_info().documents == 2);
  CHECK(starts_of(*indexed, 0, 8) == Places{0, 2});
  CHECK(starts_of(*indexed, 1, 7) == Places{1});
  CHECK(starts_of(*indexed, 2, 2) == Places{0});
  CHECK(starts_of(*indexed, 3, 5).empty());
  CHECK(starts_of(*open(folder.file("n.bin"), "auto", 10, 9), 0, 8) == Places{0, 2, 3, 5, 6});

  std::vector<std::unique_ptr<TokenSource>> shards;
  for (const Ids& part : {Ids{1, 9}, Ids{2, 3}, Ids{4, 9, 9}}) {
    const std::string path = folder.file("s" + std::to_string(part[0]) + ".bin");
    write_llmc<std::uint16_t>(path, part);
    shards.push_back(open(path, "auto", 10, 9));
  }
  shards.push_back(open(folder.file("n.bin"), "auto", 10));
  const ConcatenatedTokens all(std::move(shards), true);
  CHECK(starts_of(all, 0, all.size()) == Places{2, 6, 7, 9});
  CHECK(starts_of(all, 2, 3).empty());
}

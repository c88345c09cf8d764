// Files without a header are what the deck says, or what they seem to be is named.
#include <algorithm>
#include <limits>

#include "data/tokens/token_formats.hpp"
#include "data/tokens/token_scan.hpp"
#include "harness/binary_fixtures.hpp"
#include "harness/catch.hpp"
#include "harness/file_fixtures.hpp"

using namespace lexikos;
using namespace fixtures;

namespace {

constexpr Index gpt2 = 50257;

/// Ids of a text: all sizes below V, none of them regular.
std::vector<std::int64_t> text_ids(Index count, Index V) {
  std::vector<std::int64_t> ids;
  std::uint64_t state = 12345;
  for (Index i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    ids.push_back(static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(V)));
  }
  return ids;
}

/// The error of a raw file with these bytes, opened as nanoGPT's.
std::string error_with(const std::string& bytes, Index V = gpt2,
                       const std::string& format = "nanogpt") {
  const TemporaryFolder folder;
  write_bytes(folder.file("ids.bin"), bytes);
  return error_of([&] {
    const auto source = open_tokens(folder.file("ids.bin"), "train", {format, V, -1});
    check_ids(*source);
  });
}

template <class Word>
std::string stored(const std::vector<std::int64_t>& ids) {
  return Bytes().add_all<Word>(ids).text();
}

template <class Real>
std::string stored_real(const std::vector<std::int64_t>& ids) {
  std::string bytes;
  for (const std::int64_t id : ids) {
    const auto value = static_cast<Real>(id);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return bytes;
}

std::string swapped(std::string bytes, std::size_t each) {
  for (std::size_t at = 0; at + each <= bytes.size(); at += each) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + each));
  }
  return bytes;
}

}  // namespace

TEST_CASE("raw uint16 ids of every vocabulary are read") {
  for (const Index V : {2, 61, 256, 257, 50257, 65535, 65536, 100000}) {
    INFO(V);
    CHECK(error_with(stored<std::uint16_t>(text_ids(5000, std::min<Index>(V, 65536))), V).empty());
  }
  CHECK(error_with(stored<std::uint16_t>(text_ids(200000, gpt2))).empty());
  CHECK(error_with(stored<std::uint16_t>({1, 0, 3, 0}), 10).empty());  // too short to judge
}

TEST_CASE("ids of another width, kind or byte order are refused and named") {
  for (const Index V : {Index{61}, Index{257}, gpt2, Index{128000}}) {
    for (const Index count : {Index{200}, Index{100000}}) {
      INFO("V = " << V << ", " << count << " ids");
      const std::vector<std::int64_t> ids = text_ids(count, V);
      CHECK(contains(error_with(stored<std::int32_t>(ids), V), "numbers of 32 bits"));
      CHECK(contains(error_with(stored<std::int64_t>(ids), V), "numbers of 64 bits"));
      CHECK(contains(error_with(swapped(stored<std::int32_t>(ids), 4), V), "other byte order"));
      CHECK_FALSE(error_with(stored_real<float>(ids), V).empty());
      CHECK_FALSE(error_with(stored_real<double>(ids), V).empty());
      if (V < 65536) {
        CHECK(contains(error_with(swapped(stored<std::uint16_t>(ids), 2), V), "big-endian"));
      }
      if (V == 61) {
        CHECK(contains(error_with(stored<std::uint8_t>(ids), V), "one byte each"));
      }
    }
  }
  CHECK(contains(error_with(stored<std::uint8_t>(text_ids(4001, 256)), 256), "one byte each"));
}

TEST_CASE("files of other formats are named, and no advice reads them as ids") {
  const std::string ids = stored<std::uint16_t>(text_ids(4000, gpt2));
  struct Known {
    std::string begin, part;
  };
  for (const Known& known :
       {Known{std::string("\x93NUMPY\x01\0", 8), ".npy"},
        Known{std::string("PK\x03\x04", 4), "zip archive"},
        Known{std::string("\x1f\x8b\x08\0", 4), "gzip"},
        Known{std::string("\x28\xb5\x2f\xfd", 4), "zstd"},
        Known{std::string("TNTIDX\0\0", 8), "older format"}, Known{std::string("GGUF", 4), "GGUF"},
        Known{std::string("\x40\0\0\0\0\0\0\0{\"", 10), "safetensors"},
        Known{swapped(Bytes().add<std::int32_t>(20240520).text(), 4), "other byte order"}}) {
    INFO(known.part);
    for (const char* format : {"nanogpt", "auto"}) {
      const std::string text = error_with(known.begin + ids, gpt2, format);
      CHECK(contains(text, known.part));
      CHECK_FALSE(contains(text, "say format"));
    }
  }
  const std::string text = "Grüße, said the traveller, and went on.\n";
  for (const char* format : {"nanogpt", "auto"}) {
    CHECK(contains(error_with(text + text + text, gpt2, format), "it is text"));
  }
}

TEST_CASE("an index of another format says how ids are stored, so nothing is guessed") {
  const TemporaryFolder folder;
  const std::string bin = folder.file("m.bin"), idx = folder.file("m.idx");
  write_bytes(bin, stored<std::int32_t>(text_ids(500, gpt2)));
  const auto error = [&](const std::string& format) {
    return error_of([&] { (void)open_tokens(bin, "train", {format, gpt2, -1}); });
  };
  Bytes old;
  old.add(std::string("TNTIDX\0\0", 8)).add<std::uint64_t>(1).add<std::uint64_t>(4);
  old.add<std::uint64_t>(4).add<std::uint64_t>(1).add<std::uint64_t>(1);
  for (const char* format : {"auto", "nanogpt"}) {
    old.write(idx);
    CHECK(contains(error(format), "Megatron's older format (TNTIDX), with ids of int32"));
    write_bytes(idx, "TNTIDX");
    CHECK(contains(error(format), "none of Megatron's"));
    write_bytes(idx, "");
    CHECK(contains(error(format), "is empty"));
  }
}

TEST_CASE("a Megatron index whose unseen parts are damaged is refused where it is met") {
  const TemporaryFolder folder;
  // More sequences than are looked at when it is opened: every third is seen.
  const std::int64_t sequences = std::int64_t{3} << 20;
  Bytes index = megatron_index(std::vector<std::int64_t>(sequences, 1), 2, 8);
  std::string text = index.text();
  const auto put = [&](std::int64_t at, std::int64_t value) {
    for (int k = 0; k < 8; ++k) {
      text[static_cast<std::size_t>(at + k)] = static_cast<char>(value >> (8 * k));
    }
  };
  const std::int64_t pointers = 34 + 4 * sequences, documents = pointers + 8 * sequences;
  write_bytes(folder.file("m.bin"), std::string(static_cast<std::size_t>(2 * sequences), '\1'));
  const auto starts = [&] {
    write_bytes(folder.file("m.idx"), text);
    const auto source = open_tokens(folder.file("m.bin"), "train", {"auto", 65536, -1});
    std::vector<TokenId> ids(10);
    std::vector<Index> found;
    source->document_starts(1000, 10, ids.data(), found);
    return found;
  };
  CHECK(starts().size() == 10);
  put(documents + 8 * 1003, 3);  // document 1003 begins at token 3, before the one before it
  CHECK(contains(error_of([&] { (void)starts(); }), "begins before the one before it"));
  put(documents + 8 * 1003, 1003);
  for (const std::int64_t pointer :
       {std::int64_t{-2}, std::int64_t{3}, std::numeric_limits<std::int64_t>::max()}) {
    put(pointers + 8 * 1003, pointer);
    CHECK(contains(error_of([&] { (void)starts(); }), "where no id begins"));
  }
}

TEST_CASE("a source that was laid out and never written is refused") {
  const TemporaryFolder folder;
  const auto error = [&](const std::vector<std::uint16_t>& ids) {
    write_tokens(folder.file("t.h5"), 100, ids);
    return error_of([&] { check_sample(*open_tokens(folder.file("t.h5"), "train", {})); });
  };
  std::vector<std::uint16_t> ids(100000, 0);
  CHECK(contains(error(ids), "laid out and never written"));
  ids.front() = 1;
  CHECK(error(ids).empty());
  ids.front() = 0;
  ids.back() = 1;
  CHECK(error(ids).empty());
  ids.back() = 100;
  CHECK(contains(error(ids), "token id 100 at offset 99999"));
  CHECK(error(std::vector<std::uint16_t>(500, 0)).empty());  // a few may well be the same
}

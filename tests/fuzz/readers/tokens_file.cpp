// data/tokens/token_file: edits of a tokens.h5. What was accepted is what the library reads.
#include <algorithm>

#include "data/tokens/token_file.hpp"
#include "fuzz/hdf5_edits.hpp"
#include "fuzz/reader.hpp"
#include "fuzz/token_checks.hpp"
#include "harness/file_fixtures.hpp"

namespace {

namespace fuzz = lexikos::fuzz;
using lexikos::Index;

constexpr Index vocabulary = 40, tokens = 120;

void write_split(lexikos::Hdf5Writer& file, const std::string& name) {
  std::vector<std::uint16_t> ids(tokens);
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<std::uint16_t>(i * 7 % vocabulary);
  file.write("/" + name, {tokens}, ids.data());
  lexikos::Attributes attributes;
  attributes.set("source_bytes", 1000).set("source_words", 200).set("documents", 3);
  file.set_attributes("/" + name, attributes);
}

void write_file(const std::string& path) {
  lexikos::Hdf5Writer file(path);
  fixtures::write_token_root(file, vocabulary);
  write_split(file, "train");
  write_split(file, "validation");
  const std::vector<std::uint64_t> counts(vocabulary, tokens / vocabulary);
  file.write("/train_counts", {vocabulary}, counts.data());
  file.commit();
}

/// The ids, or nothing where they are refused or many.
std::vector<double> ids_of(const std::string& path, const std::string& split) {
  std::vector<lexikos::TokenId> ids;
  const bool read = fuzz::accepts(lexikos::Status::file, [&] {
    const lexikos::TokenFile file(path, split);
    if (file.size() > 65536) return;
    ids.resize(static_cast<std::size_t>(file.size()));
    file.read(0, file.size(), ids.data());
  });
  if (!read) ids.clear();
  return {ids.begin(), ids.end()};
}

void look(const fuzz::Edited& file) {
  for (const char* split : {"train", "validation"}) {
    fuzz::read_tokens(file.path, split, {"auto", 0, -1});
    const std::vector<double> ids = ids_of(file.path, split);
    std::vector<double> direct;
    if (ids.empty()) continue;
    fuzz::require(fuzz::read_directly(file.path, "/" + std::string(split), direct) && direct == ids,
                  "ids are what the HDF5 library reads\n" + file.told);
  }
  fuzz::accepts(lexikos::Status::file, [&] {
    const auto counts = lexikos::TokenFile(file.path, "validation").train_counts();
    fuzz::require(!counts.empty(), "there are counts");
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Base base = fuzz::make_base(write_file);
  const fuzz::Edited file = fuzz::write_edited("tokens.h5", base, fuzz::text_of(data, size));
  fuzz::look_at(file, [&] { look(file); });
  return 0;
}

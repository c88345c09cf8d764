#include "outputs/embedding_file.hpp"

#include <algorithm>
#include <vector>

#include "hdf5/file.hpp"

namespace lexikos {

namespace {

constexpr std::int64_t block_elements = std::int64_t{4} << 20;  // 16 MiB of float32

void write_table(Hdf5Writer& file, const std::string& dataset, const std::string& description,
                 std::int64_t rows, std::int64_t width, const RowBlock& block) {
  file.create<float>(dataset, {rows, width});
  file.set_attribute(dataset, "description", description);
  const std::int64_t most = std::clamp<std::int64_t>(
      block_elements / std::max<std::int64_t>(width, 1), 1, std::max<std::int64_t>(rows, 1));
  std::vector<float> values(static_cast<std::size_t>(most * width));
  for (std::int64_t begin = 0; begin < rows; begin += most) {
    const std::int64_t count = std::min(most, rows - begin);
    block(begin, count, values.data());
    file.write_rows(dataset, begin, count, values.data());
  }
}

}  // namespace

void write_embedding(const std::string& path, const Attributes& attributes,
                     std::int64_t vocabulary_size, std::int64_t width, const RowBlock& input,
                     const RowBlock& output) {
  Hdf5Writer file(path);
  Attributes root;
  root.set("format", "lexikos-embedding").set("format_version", embedding_format_version);
  file.set_attributes("/", root.add_missing(attributes));
  write_table(file, "/input", "row v: the vector that token v enters the Transformer as",
              vocabulary_size, width, input);
  write_table(file, "/output",
              "row v: the head's weights for token v; its logit is the inner "
              "product with the last hidden state",
              vocabulary_size, width, output);
  file.commit();
}

}  // namespace lexikos

// Weight files, byte by byte, with nothing of the code under test.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/binary_fixtures.hpp"

namespace fixtures {

/// safetensors: the header's length, the header, the values.
inline std::string safetensors(const std::string& header, const std::string& values) {
  return Bytes().add<std::uint64_t>(static_cast<std::int64_t>(header.size())).text() + header +
         values;
}

/// A tensor of zeros: its name, dtype, shape and bytes.
struct Zeros {
  std::string name, dtype, shape;
  std::size_t bytes;
};

/// A safetensors file of tensors in a row.
inline std::string safetensors(const std::vector<Zeros>& tensors) {
  std::string header;
  std::size_t at = 0;
  for (const Zeros& t : tensors) {
    header += (header.empty() ? "{\"" : ",\"") + t.name + R"(":{"dtype":")" + t.dtype +
              R"(","shape":)" + t.shape + R"(,"data_offsets":[)" + std::to_string(at) + "," +
              std::to_string(at + t.bytes) + "]}";
    at += t.bytes;
  }
  return safetensors(header + "}", std::string(at, '\0'));
}

inline std::string gguf_text(const std::string& text) {
  return Bytes().add<std::uint64_t>(static_cast<std::int64_t>(text.size())).text() + text;
}

/// A GGUF tensor: its row of the table.
struct GgufTensor {
  std::string name;
  std::vector<std::int64_t> extents;  // the file's order: the last dimension first
  std::int64_t type, offset;
};

/// A GGUF file: `values` are key, type and value in bytes, `data` stands at the next multiple
/// of 32.
inline std::string gguf(const std::vector<std::string>& values,
                        const std::vector<GgufTensor>& tensors, const std::string& data,
                        std::int64_t version = 3) {
  Bytes bytes;
  bytes.add("GGUF").add<std::uint32_t>(version);
  bytes.add<std::uint64_t>(static_cast<std::int64_t>(tensors.size()));
  bytes.add<std::uint64_t>(static_cast<std::int64_t>(values.size()));
  for (const std::string& value : values) bytes.add(value);
  for (const GgufTensor& t : tensors) {
    bytes.add(gguf_text(t.name)).add<std::uint32_t>(static_cast<std::int64_t>(t.extents.size()));
    bytes.add_all<std::uint64_t>(t.extents).add<std::uint32_t>(t.type).add<std::uint64_t>(t.offset);
  }
  std::string text = bytes.text();
  text.resize((text.size() + 31) / 32 * 32, '\0');
  return text + data;
}

/// .npy of version 1 with this dictionary.
inline std::string npy(const std::string& dictionary, const std::string& values, int version = 1) {
  return Bytes()
             .add(std::string("\x93NUMPY", 6))
             .add<std::uint8_t>(version)
             .add<std::uint8_t>(0)
             .add<std::uint16_t>(static_cast<std::int64_t>(dictionary.size()))
             .text() +
         dictionary + values;
}

}  // namespace fixtures

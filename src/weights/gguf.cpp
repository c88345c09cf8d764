// GGUF version 2 and 3, little-endian: header, key-value pairs, tensor table, aligned data.
#include <array>

#include "weights/formats.hpp"

namespace lexikos::formats {
namespace {

enum ValueType : std::uint32_t { type_u32 = 4, type_text = 8, type_array = 9 };
// Bytes of the plain value types by number; text and array have none.
constexpr std::array<std::uint64_t, 13> value_bytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

class Cursor {
 public:
  explicit Cursor(const MappedFile& file) : file_(file) {}

  [[nodiscard]] std::uint64_t at() const { return at_; }

  void skip(std::uint64_t bytes) {
    if (bytes > file_.size() - at_) file_.refuse("its GGUF header goes past the end; truncated");
    at_ += bytes;
  }
  template <class T>
  T number() {
    const std::uint64_t begin = at_;
    skip(sizeof(T));
    return file_.number<T>(begin);
  }
  std::string text() {
    const auto length = number<std::uint64_t>();
    const std::uint64_t begin = at_;
    skip(length);
    return std::string(file_.text(begin, length));
  }

 private:
  const MappedFile& file_;
  std::uint64_t at_ = 0;
};

void skip_value(const MappedFile& file, Cursor& cursor, std::uint32_t type, int depth) {
  if (type >= value_bytes.size() || depth > 8) {
    file.refuse("a GGUF value has the unknown type " + std::to_string(type));
  }
  if (type == type_text) {
    cursor.text();
  } else if (type == type_array) {
    const auto of = cursor.number<std::uint32_t>();
    const auto count = cursor.number<std::uint64_t>();
    if (of < value_bytes.size() && value_bytes[of] > 0) {
      std::uint64_t bytes = 0;
      if (__builtin_mul_overflow(count, value_bytes[of], &bytes)) bytes = ~std::uint64_t{0};
      cursor.skip(bytes);
    } else {
      for (std::uint64_t i = 0; i < count; ++i) skip_value(file, cursor, of, depth + 1);
    }
  } else {
    cursor.skip(value_bytes[type]);
  }
}

std::optional<Element> element_of(std::uint32_t type) {
  switch (type) {
    case 0:
      return Element::f32;
    case 1:
      return Element::f16;
    case 8:
      return Element::q8_0;
    case 28:
      return Element::f64;
    case 30:
      return Element::bf16;
    default:
      return std::nullopt;
  }
}

struct Row {
  std::string name;
  std::vector<Index> shape;
  std::uint32_t type;
  std::uint64_t offset;
};

Row read_row(const MappedFile& file, Cursor& cursor) {
  Row row;
  row.name = cursor.text();
  const auto dimensions = cursor.number<std::uint32_t>();
  if (dimensions > 4) {
    file.refuse("tensor '" + row.name + "' has " + std::to_string(dimensions) + " dimensions");
  }
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    const auto extent = cursor.number<std::uint64_t>();
    if (extent > (std::uint64_t{1} << 48)) {
      file.refuse("tensor '" + row.name + "' has an extent that is no sensible number");
    }
    // The file's first dimension is the fastest; ours is the last.
    row.shape.insert(row.shape.begin(), static_cast<Index>(extent));
  }
  row.type = cursor.number<std::uint32_t>();
  row.offset = cursor.number<std::uint64_t>();
  return row;
}

}  // namespace

bool is_gguf(const MappedFile& file) { return file.text(0, 4) == "GGUF"; }

std::vector<TensorEntry> read_gguf(const File& file) {
  Cursor cursor(*file);
  cursor.skip(4);
  const auto version = cursor.number<std::uint32_t>();
  if (version != 2 && version != 3) {
    file->refuse("its GGUF version is " + std::to_string(version) + "; 2 and 3 are read");
  }
  const auto tensor_count = cursor.number<std::uint64_t>();
  const auto value_count = cursor.number<std::uint64_t>();
  std::uint64_t alignment = 32;
  for (std::uint64_t i = 0; i < value_count; ++i) {
    const std::string key = cursor.text();
    const auto type = cursor.number<std::uint32_t>();
    if (key == "general.alignment" && type == type_u32) {
      alignment = cursor.number<std::uint32_t>();
    } else {
      skip_value(*file, cursor, type, 0);
    }
  }
  if (alignment == 0 || alignment % 8 != 0) file->refuse("its alignment is no multiple of 8");
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < tensor_count; ++i) rows.push_back(read_row(*file, cursor));
  const std::uint64_t data = (cursor.at() + alignment - 1) / alignment * alignment;
  std::vector<TensorEntry> tensors;
  for (Row& row : rows) {
    if (row.offset > file->size() || data > file->size() - row.offset) {
      file->refuse("tensor '" + row.name + "' begins past the end; the file is truncated");
    }
    const std::optional<Element> element = element_of(row.type);
    const std::string type =
        element ? element_name(*element) : "GGUF type " + std::to_string(row.type);
    tensors.push_back(
        stored_tensor(file, row.name, std::move(row.shape), type, element, data + row.offset));
  }
  return tensors;
}

}  // namespace lexikos::formats

// GGUF version 2 and 3, little-endian: header, key-value pairs, tensor table, aligned data.
#include <algorithm>
#include <array>

#include "utils/text.hpp"
#include "weights/formats.hpp"

namespace lexikos::formats {
namespace {

enum ValueType : std::uint32_t { type_u32 = 4, type_text = 8, type_array = 9 };
// Bytes of the plain value types by number; text and array have none.
constexpr std::array<std::uint64_t, 13> value_bytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

// Of a file that any disk holds; sums and products of one with small numbers cannot overflow.
constexpr std::uint64_t largest_extent = std::uint64_t{1} << 48;

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
    return printable(std::string(file_.text(begin, length)));
  }

 private:
  const MappedFile& file_;
  std::uint64_t at_ = 0;
};

/// Passes over the value of `key`. Only one of unknown length stops the reading.
void skip_value(const MappedFile& file, Cursor& cursor, const std::string& key, std::uint32_t type,
                int depth = 0) {
  if (type >= value_bytes.size() || depth > 8) {
    file.refuse("the value of its key '" + key + "' has the unknown type " + std::to_string(type));
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
      for (std::uint64_t i = 0; i < count; ++i) skip_value(file, cursor, key, of, depth + 1);
    }
  } else {
    cursor.skip(value_bytes[type]);
  }
}

struct TensorType {
  std::uint32_t number;
  const char* name;
  std::optional<Element> element;
};

constexpr TensorType tensor_types[] = {{0, "F32", Element::f32},
                                       {1, "F16", Element::f16},
                                       {2, "Q4_0", {}},
                                       {3, "Q4_1", {}},
                                       {6, "Q5_0", {}},
                                       {7, "Q5_1", {}},
                                       {8, "Q8_0", Element::q8_0},
                                       {10, "Q2_K", {}},
                                       {11, "Q3_K", {}},
                                       {12, "Q4_K", {}},
                                       {13, "Q5_K", {}},
                                       {14, "Q6_K", {}},
                                       {20, "IQ4_NL", {}},
                                       {23, "IQ4_XS", {}},
                                       {28, "F64", Element::f64},
                                       {30, "BF16", Element::bf16}};

const TensorType* type_of(std::uint32_t number) {
  for (const TensorType& known : tensor_types) {
    if (known.number == number) return &known;
  }
  return nullptr;
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
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    const auto extent = cursor.number<std::uint64_t>();
    if (extent > largest_extent) {
      file.refuse("tensor '" + row.name + "' has an extent that is no sensible number");
    }
    row.shape.push_back(static_cast<Index>(extent));
  }
  // The file's first dimension is the fastest; ours is the last.
  std::reverse(row.shape.begin(), row.shape.end());
  row.type = cursor.number<std::uint32_t>();
  row.offset = cursor.number<std::uint64_t>();
  return row;
}

void check_version(const MappedFile& file, Cursor& cursor) {
  const auto version = cursor.number<std::uint32_t>();
  const std::uint32_t swapped = __builtin_bswap32(version);
  if (swapped >= 1 && swapped <= 3) {
    file.refuse("its numbers are big-endian (GGUF version " + std::to_string(swapped) +
                "); little-endian files are read: convert it with gguf_convert_endian.py");
  }
  if (version != 2 && version != 3) {
    file.refuse("its GGUF version is " + std::to_string(version) + "; 2 and 3 are read");
  }
}

/// general.alignment, whose value comes next.
std::uint64_t read_alignment(const MappedFile& file, Cursor& cursor, std::uint32_t type) {
  if (type != type_u32) {
    file.refuse("its general.alignment has the value type " + std::to_string(type) +
                "; 4, a uint32, is expected");
  }
  const auto alignment = cursor.number<std::uint32_t>();
  if (alignment == 0 || alignment % 8 != 0) {
    file.refuse("its general.alignment = " + std::to_string(alignment) + " is no multiple of 8");
  }
  return alignment;
}

}  // namespace

bool is_gguf(const MappedFile& file) { return file.text(0, 4) == "GGUF"; }

std::vector<TensorEntry> read_gguf(const File& file) {
  Cursor cursor(*file);
  cursor.skip(4);
  check_version(*file, cursor);
  const auto tensor_count = cursor.number<std::uint64_t>();
  const auto value_count = cursor.number<std::uint64_t>();
  std::uint64_t alignment = 32;
  for (std::uint64_t i = 0; i < value_count; ++i) {
    const std::string key = cursor.text();
    const auto type = cursor.number<std::uint32_t>();
    if (key == "general.alignment") {
      alignment = read_alignment(*file, cursor, type);
    } else {
      skip_value(*file, cursor, key, type);
    }
  }
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < tensor_count; ++i) rows.push_back(read_row(*file, cursor));
  const std::uint64_t data = (cursor.at() + alignment - 1) / alignment * alignment;
  std::vector<TensorEntry> tensors;
  for (Row& row : rows) {
    // An offset past the end says so when the tensor is opened.
    const std::uint64_t begin = row.offset > file->size() ? row.offset : data + row.offset;
    const TensorType* known = type_of(row.type);
    const std::string type =
        "GGUF type " + std::to_string(row.type) + (known ? std::string(", ") + known->name : "");
    tensors.push_back(stored_tensor(file, row.name, std::move(row.shape), type,
                                    known ? known->element : std::nullopt, begin));
  }
  return tensors;
}

}  // namespace lexikos::formats

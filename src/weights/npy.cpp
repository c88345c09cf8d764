// NumPy's .npy, versions 1 to 3: magic, version, header length, a Python dictionary, the array.
#include <charconv>

#include "utils/text.hpp"
#include "weights/formats.hpp"

namespace lexikos::formats {
namespace {

/// What stands after 'name': in the dictionary, up to the comma or brace that ends it.
std::string value_of(const MappedFile& file, const std::string& header, const std::string& name) {
  const std::size_t key = header.find("'" + name + "'");
  const std::size_t colon = header.find(':', key);
  if (key == std::string::npos || colon == std::string::npos) {
    file.refuse("its .npy header has no '" + name + "'");
  }
  const std::size_t open = header.find_first_not_of(' ', colon + 1);
  const bool tuple = open != std::string::npos && header[open] == '(';
  const std::size_t end = tuple ? header.find(')', open) : header.find_first_of(",}", colon);
  if (end == std::string::npos) file.refuse("its .npy header is damaged at '" + name + "'");
  return trim(header.substr(colon + 1, end + (tuple ? 1 : 0) - colon - 1));
}

std::vector<Index> shape_of(const MappedFile& file, const std::string& text) {
  std::vector<Index> shape;
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') {
    file.refuse("the shape in its .npy header is no tuple");
  }
  for (const std::string& part : split(text.substr(1, text.size() - 2), ',')) {
    std::string digits = trim(part);
    if (digits.empty()) continue;
    if (digits.back() == 'L') digits.pop_back();  // Python 2 wrote 70L
    Index extent = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), extent);
    if (error != std::errc() || end != digits.data() + digits.size() || extent < 0) {
      file.refuse("the shape " + text + " in its .npy header is no shape");
    }
    shape.push_back(extent);
  }
  return shape;
}

}  // namespace

bool is_npy(const MappedFile& file) { return file.text(0, 6) == "\x93NUMPY"; }

std::vector<TensorEntry> read_npy(const File& file) {
  if (file->size() < 12) file->refuse("its .npy header goes past the end; truncated");
  const int version = file->number<std::uint8_t>(6);
  if (version < 1 || version > 3) {
    file->refuse("its .npy version " + std::to_string(version) + " is not known");
  }
  const std::uint64_t begin = version == 1 ? 10 : 12;
  const std::uint64_t length =
      version == 1 ? file->number<std::uint16_t>(8) : file->number<std::uint32_t>(8);
  if (length > file->size() - begin) file->refuse("its .npy header goes past the end; truncated");
  const std::string header = printable(std::string(file->text(begin, length)));
  const std::string type = value_of(*file, header, "descr");
  std::optional<Element> element;
  if (type == "'<f8'") element = Element::f64;
  if (type == "'<f4'") element = Element::f32;
  if (type == "'<f2'") element = Element::f16;
  if (!element && type.size() > 1 && type[1] == '>') {
    file->refuse("its elements are " + type + ", big-endian; save matrix.astype('<" +
                 type.substr(2) + ")");
  }
  if (!element) {
    file->refuse("its elements are " + type + "; '<f8', '<f4' and '<f2' are read");
  }
  if (value_of(*file, header, "fortran_order") != "False") {
    file->refuse("it is stored column by column; save numpy.ascontiguousarray(matrix)");
  }
  std::vector<Index> shape = shape_of(*file, value_of(*file, header, "shape"));
  std::uint64_t bytes = static_cast<std::uint64_t>(row_bytes(*element, 1));
  for (const Index extent : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) {
      file->refuse("the size of its array overflows");
    }
  }
  if (bytes != file->size() - begin - length) {
    file->refuse("its array needs " + std::to_string(bytes) + " bytes and the file has " +
                 std::to_string(file->size() - begin - length));
  }
  return {stored_tensor(file, "array", std::move(shape), element_name(*element), element,
                        begin + length)};
}

}  // namespace lexikos::formats

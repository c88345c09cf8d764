// weights/npy: the bytes as they are, and once more with the header's length and the data made to
// fit.
#include <charconv>

#include "fuzz/reader.hpp"
#include "fuzz/weight_checks.hpp"

namespace {

namespace fuzz = lexikos::fuzz;

/// Bytes of the array that a header seems to speak of, at most 64 KiB.
std::uint64_t data_bytes(std::string_view header) {
  std::uint64_t bytes = header.find("f8") != std::string_view::npos   ? 8
                        : header.find("f4") != std::string_view::npos ? 4
                                                                      : 2;
  const std::size_t open = header.find('(');
  for (std::size_t i = open; i < header.size() && header[i] != ')';) {
    std::uint64_t extent = 0;
    const auto [end, error] =
        std::from_chars(header.data() + i, header.data() + header.size(), extent);
    if (error == std::errc()) bytes *= extent < 65536 ? extent : 1;
    const auto next = static_cast<std::size_t>(end - header.data());
    i = next > i ? next : i + 1;
  }
  return bytes < 65536 ? bytes : 0;
}

std::string made_to_fit(std::string_view input) {
  const std::size_t end = input.rfind('}');
  if (input.size() < 10 || end == std::string_view::npos || end < 10 || end > 60000) return "";
  const std::string_view header = input.substr(10, end + 1 - 10);
  std::string file = "\x93NUMPY\1";
  file += '\0';
  file += static_cast<char>(header.size() & 255);
  file += static_cast<char>(header.size() >> 8);
  return file.append(header).append(data_bytes(header), '\x3c');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::text_of(data, size);
  fuzz::read_weights(fuzz::write_input("file", input));
  const std::string fitted = made_to_fit(input);
  if (!fitted.empty()) fuzz::read_weights(fuzz::write_input("file", fitted));
  return 0;
}

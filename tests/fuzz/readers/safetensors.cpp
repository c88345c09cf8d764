// weights/safetensors: the bytes as they are, and once more with the header's length and the data
// made to fit, so that a changed header is looked into.
#include <algorithm>

#include "fuzz/reader.hpp"
#include "fuzz/weight_checks.hpp"
#include "utils/json.hpp"

namespace {

namespace fuzz = lexikos::fuzz;

constexpr std::uint64_t longest_data = 1 << 16;

/// The largest offset that a header names, if it is a small one.
std::uint64_t data_bytes(const lexikos::Json& header) {
  std::uint64_t end = 0;
  for (const auto& member : header.members) {
    const lexikos::Json* offsets = member.value.find("data_offsets");
    if (offsets == nullptr) continue;
    for (const lexikos::Json& offset : offsets->items) {
      if (offset.whole && *offset.whole <= longest_data) end = std::max(end, *offset.whole);
    }
  }
  return end;
}

std::string made_to_fit(std::string_view input) {
  const std::size_t end = input.rfind('}');
  if (input.size() < 9 || end == std::string_view::npos || end < 8) return "";
  const std::string_view header = input.substr(8, end + 1 - 8);
  std::uint64_t data = 0;
  try {
    data = data_bytes(lexikos::parse_json(header, ""));
  } catch (const lexikos::Error&) {
    return "";
  }
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i));
  return file.append(header).append(data, '\x3c');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::text_of(data, size);
  fuzz::read_weights(fuzz::write_input("as_it_is", input));
  const std::string fitted = made_to_fit(input);
  if (!fitted.empty()) fuzz::read_weights(fuzz::write_input("fitted", fitted));
  return 0;
}

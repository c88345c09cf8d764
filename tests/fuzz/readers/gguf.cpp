// weights/gguf: the bytes as they are, and once more behind the magic and a version that is read.
#include "fuzz/reader.hpp"
#include "fuzz/weight_checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace fuzz = lexikos::fuzz;
  const std::string_view input = fuzz::text_of(data, size);
  fuzz::read_weights(fuzz::write_input("file", input));
  constexpr std::string_view start("GGUF\3\0\0\0", 8);
  if (size < start.size() || input.substr(0, start.size()) == start) return 0;
  fuzz::read_weights(
      fuzz::write_input("file", std::string(start).append(input.substr(start.size()))));
  return 0;
}

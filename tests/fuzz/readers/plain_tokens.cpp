// data/tokens/: .bin of llm.c and nanoGPT. The bytes as they are, and a llm.c header made to fit.
#include "fuzz/reader.hpp"
#include "fuzz/token_checks.hpp"

namespace {

namespace fuzz = lexikos::fuzz;

/// With the count that the size gives.
std::string made_to_fit(std::string_view input) {
  if (input.size() < 1024) return "";
  std::string file(input);
  const bool wide = file.substr(0, 4) == std::string("\xa1\xd9\x34\x01", 4);
  const std::size_t count = (file.size() - 1024) / (wide ? 4 : 2);
  file.resize(1024 + count * (wide ? 4 : 2));
  for (int i = 0; i < 4; ++i)
    file[8 + static_cast<std::size_t>(i)] = static_cast<char>(count >> (8 * i));
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = fuzz::write_input("file.bin", fuzz::text_of(data, size));
  fuzz::read_tokens(path, "train", {"auto", 1000, 7});
  fuzz::read_tokens(path, "train", {"nanogpt", 1000, -1});
  const std::string fitted = made_to_fit(fuzz::text_of(data, size));
  if (!fitted.empty())
    fuzz::read_tokens(fuzz::write_input("file.bin", fitted), "train", {"auto", 50000, 7});
  return 0;
}

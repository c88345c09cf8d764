// The readers of the program `fuzz`, by name; CMakeLists.txt makes the list from readers/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lexikos::fuzz {

struct NamedReader {
  const char* name;
  int (*one_input)(const std::uint8_t* data, std::size_t size);
  std::uint64_t share;  ///< it gets 1 / share of the mutants
};

const std::vector<NamedReader>& named_readers();

}  // namespace lexikos::fuzz

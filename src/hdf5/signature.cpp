#include "hdf5/signature.hpp"

namespace lexikos {

std::optional<std::uint64_t> hdf5_begin(const MappedFile& file) {
  for (std::uint64_t at = 0; at < file.size(); at = at == 0 ? 512 : 2 * at) {
    if (file.text(at, 8) == "\x89HDF\r\n\x1a\n") return at;
  }
  return std::nullopt;
}

}  // namespace lexikos

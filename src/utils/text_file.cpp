#include "utils/text_file.hpp"

#include <fstream>

#include "utils/error.hpp"

namespace lexikos {

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) fail(Status::file, "cannot write '" + path + "'; is the disk full?");
}

}  // namespace lexikos

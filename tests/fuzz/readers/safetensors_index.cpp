// weights/: a folder's model.safetensors.index.json, beside two shards that are whole.
#include <cstring>

#include "fuzz/reader.hpp"
#include "fuzz/weight_checks.hpp"

namespace {

namespace fuzz = lexikos::fuzz;

std::string shard(const std::string& name) {
  const std::string header =
      "{\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}}";
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i));
  return file + header + std::string(24, '\0');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool there = [] {
    fuzz::write_input("a.safetensors", shard("model.embed_tokens.weight"));
    fuzz::write_input("b.safetensors", shard("lm_head.weight"));
    return true;
  }();
  static_cast<void>(there);
  const std::string index =
      fuzz::write_input("model.safetensors.index.json", fuzz::text_of(data, size));
  fuzz::read_weights(index);
  fuzz::read_weights(fuzz::folder());
  return 0;
}

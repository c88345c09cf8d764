// data/tokens/document_index: a Megatron .idx, beside a .bin of the size that it asks for.
#include <filesystem>

#include "data/tokens/binary_tokens.hpp"
#include "fuzz/reader.hpp"
#include "fuzz/token_checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace fuzz = lexikos::fuzz;
  using lexikos::Index;
  constexpr Index largest = Index{1} << 22;
  const std::string index = fuzz::write_input("tokens.idx", fuzz::text_of(data, size));
  Index bytes = 0, tokens = 0;
  const bool accepted = fuzz::accepts(lexikos::Status::file, [&] {
    const lexikos::DocumentIndex documents(index);
    tokens = documents.tokens();
    fuzz::require(tokens >= 0, "no count of tokens is negative");
    fuzz::require(documents.documents() >= 0, "no count of documents is negative");
    bytes = tokens <= largest ? tokens * lexikos::id_bytes(documents.type()) : 0;
  });
  const std::string ids = fuzz::write_input("tokens.bin", "0");
  std::filesystem::resize_file(ids, static_cast<std::uintmax_t>(bytes > 0 ? bytes : 1));
  const bool opened = fuzz::read_tokens(ids, "train", {"auto", 1000, 7});
  fuzz::require(!opened || accepted, "a .bin is not opened by an index that is refused");
  fuzz::require(opened || !accepted || bytes == 0, "a .bin of the right size is opened");
  fuzz::read_tokens(index, "train", {"auto", 1000, 7});
  return 0;
}

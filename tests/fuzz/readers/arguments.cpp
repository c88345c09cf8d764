// deck/arguments: words, separated by line feeds. What was accepted gives a deck or only prints.
#include "deck/arguments.hpp"

#include <vector>

#include "deck/deck.hpp"
#include "fuzz/reader.hpp"
#include "utils/text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace fuzz = lexikos::fuzz;
  std::vector<std::string> words = {"lexikos"};
  for (const std::string& word : lexikos::split(fuzz::text_of(data, size), '\n')) {
    words.emplace_back(word.c_str());  // up to a zero byte, as a system hands words over
  }
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  lexikos::Arguments given;
  const bool accepted = fuzz::accepts(lexikos::Status::deck, [&] {
    given = lexikos::parse_arguments(static_cast<int>(pointers.size()), pointers.data());
  });
  if (!accepted) return 0;
  fuzz::require(given.only_prints() || !given.deck.empty(), "a run has a deck");
  if (given.wall_limit) {
    fuzz::require(*given.wall_limit > 0 && *given.wall_limit <= 100000 * 3600L,
                  "a wall limit is between a second and 100,000 hours");
  }
  for (const std::string& text : given.overrides) {
    fuzz::require(text.find('=') != std::string::npos, "an override is key=value");
  }
  fuzz::accepts(lexikos::Status::deck, [&] {
    static_cast<void>(lexikos::Deck::from_string("", "deck.toml", given.overrides).resolved());
  });
  return 0;
}

// Deterministic mutations of bytes: the same seeds and the same number give the same input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lexikos::fuzz {

/// A small counter-based generator, the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// From 0 to below `end`; 0 for end = 0.
  std::size_t below(std::size_t end) { return end == 0 ? 0 : next() % end; }

 private:
  std::uint64_t state_;
};

/// What mutants of one reader are made of.
struct Stock {
  std::vector<std::string> seeds;  ///< at least one
  std::vector<std::string> words;  ///< of the dictionary; may be none
};

/// No mutant is longer.
inline constexpr std::size_t longest_mutant = std::size_t{1} << 16;

/// Mutant number `number`: a seed after one to eight changes.
std::string mutant(const Stock& stock, std::uint64_t number);

/// The words of a dictionary in libFuzzer's format: one "..." a line, with \xNN, \\ and \".
std::vector<std::string> dictionary(const std::string& text);

}  // namespace lexikos::fuzz

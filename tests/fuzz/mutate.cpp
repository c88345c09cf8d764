#include "fuzz/mutate.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <sstream>

namespace lexikos::fuzz {
namespace {

constexpr std::array<std::uint64_t, 24> edges = {0,
                                                 1,
                                                 2,
                                                 3,
                                                 7,
                                                 8,
                                                 31,
                                                 63,
                                                 0x7f,
                                                 0x80,
                                                 0xff,
                                                 0x100,
                                                 0x7fff,
                                                 0x8000,
                                                 0xffff,
                                                 0x10000,
                                                 0x7fffffff,
                                                 0x80000000,
                                                 0xffffffff,
                                                 0x100000000,
                                                 std::uint64_t{1} << 61,
                                                 std::uint64_t{1} << 62,
                                                 std::numeric_limits<std::int64_t>::max(),
                                                 std::numeric_limits<std::uint64_t>::max()};

/// An edge of some integer type, or a neighbour of it, of either sign.
std::uint64_t number_of(Random& random) {
  const std::uint64_t edge = edges[random.below(edges.size())];
  switch (random.below(4)) {
    case 0:
      return edge + 1;
    case 1:
      return edge - 1;
    case 2:
      return 0 - edge;
    default:
      return edge;
  }
}

std::string bytes_of(std::uint64_t number, std::size_t count, bool big_endian) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) bytes += static_cast<char>(number >> (8 * i));
  if (big_endian) std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

void overwrite(std::string& text, std::size_t at, const std::string& with) {
  if (at + with.size() > text.size()) text.resize(at + with.size());
  std::copy(with.begin(), with.end(), text.begin() + static_cast<std::ptrdiff_t>(at));
}

struct Block {
  std::size_t at, count;
};

Block block_of(const std::string& text, Random& random) {
  const std::size_t at = random.below(text.size());
  const std::size_t most = std::size_t{1} << random.below(11);
  return {at, std::min(1 + random.below(most), text.size() - at)};
}

void flip_bit(std::string& text, Random& random) {
  text[random.below(text.size())] ^= static_cast<char>(1 << random.below(8));
}

void set_byte(std::string& text, Random& random) {
  text[random.below(text.size())] = static_cast<char>(random.next());
}

void set_number(std::string& text, Random& random) {
  const std::size_t width = std::size_t{1} << random.below(4);
  const std::uint64_t number = number_of(random);
  overwrite(text, random.below(text.size()), bytes_of(number, width, random.below(4) == 0));
}

/// A number of up to eight bytes becomes a little more or less.
void step_number(std::string& text, Random& random) {
  const std::size_t width = std::min(std::size_t{1} << random.below(4), text.size());
  const std::size_t at = random.below(text.size() - width + 1);
  std::uint64_t number = 0;
  for (std::size_t i = width; i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(text[at + i]);
  }
  overwrite(text, at, bytes_of(number + random.below(33) - 16, width, false));
}

/// Digits in a text become another number.
void set_digits(std::string& text, Random& random) {
  const auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto from = text.begin() + static_cast<std::ptrdiff_t>(random.below(text.size()));
  const auto begin = std::find_if(from, text.end(), digit);
  if (begin == text.end()) return;
  const auto end = std::find_if_not(begin, text.end(), digit);
  const std::uint64_t number = number_of(random);
  const bool negative = random.below(4) == 0;
  text.replace(
      begin, end,
      negative ? std::to_string(static_cast<std::int64_t>(number)) : std::to_string(number));
}

void copy_block(std::string& text, Random& random) {
  const Block block = block_of(text, random);
  overwrite(text, random.below(text.size()), text.substr(block.at, block.count));
}

void repeat_block(std::string& text, Random& random) {
  const Block block = block_of(text, random);
  const std::string copy = text.substr(block.at, block.count);
  const std::size_t at = random.below(text.size() + 1);
  const std::size_t times = random.below(8) == 0 ? 1 + random.below(200) : 1;
  for (std::size_t i = 0; i < times && text.size() < longest_mutant; ++i) text.insert(at, copy);
}

void zero_block(std::string& text, Random& random) {
  const Block block = block_of(text, random);
  std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(block.at), block.count,
              random.below(3) == 0 ? '\xff' : '\0');
}

void insert_bytes(std::string& text, Random& random) {
  std::string bytes(1 + random.below(16), '\0');
  for (char& c : bytes) c = static_cast<char>(random.next());
  text.insert(random.below(text.size() + 1), bytes);
}

void erase_block(std::string& text, Random& random) {
  const Block block = block_of(text, random);
  text.erase(block.at, block.count);
}

void truncate(std::string& text, Random& random) { text.resize(random.below(text.size())); }

void splice(std::string& text, Random& random, const Stock& stock) {
  const std::string& other = stock.seeds[random.below(stock.seeds.size())];
  text =
      text.substr(0, random.below(text.size() + 1)) + other.substr(random.below(other.size() + 1));
}

void use_word(std::string& text, Random& random, const Stock& stock) {
  if (stock.words.empty()) return;
  const std::string& word = stock.words[random.below(stock.words.size())];
  const std::size_t at = random.below(text.size() + 1);
  if (random.below(2) == 0) {
    text.insert(at, word);
  } else {
    overwrite(text, at, word);
  }
}

void change(std::string& text, Random& random, const Stock& stock) {
  if (text.empty()) return insert_bytes(text, random);
  switch (random.below(16)) {
    case 0:
    case 1:
      return flip_bit(text, random);
    case 2:
      return set_byte(text, random);
    case 3:
    case 4:
      return set_number(text, random);
    case 5:
      return step_number(text, random);
    case 6:
    case 7:
      return set_digits(text, random);
    case 8:
      return copy_block(text, random);
    case 9:
      return repeat_block(text, random);
    case 10:
      return zero_block(text, random);
    case 11:
      return insert_bytes(text, random);
    case 12:
      return erase_block(text, random);
    case 13:
      return random.below(4) == 0 ? truncate(text, random) : flip_bit(text, random);
    case 14:
      return splice(text, random, stock);
    default:
      return use_word(text, random, stock);
  }
}

}  // namespace

std::uint64_t Random::next() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15;  // splitmix64
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

std::string mutant(const Stock& stock, std::uint64_t number) {
  Random random(number * 0x2545f4914f6cdd1d + 1);
  std::string text = stock.seeds[random.below(stock.seeds.size())];
  const std::size_t changes = std::size_t{1} << random.below(4);
  for (std::size_t i = 0; i < changes; ++i) {
    change(text, random, stock);
    if (text.size() > longest_mutant) text.resize(longest_mutant);
  }
  return text;
}

std::vector<std::string> dictionary(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t open = line.find('"'), close = line.rfind('"');
    if (line.empty() || line[0] == '#' || open == close) continue;
    std::string word;
    for (std::size_t i = open + 1; i < close; ++i) {
      const bool escaped = line[i] == '\\' && i + 1 < close;
      if (escaped && line[i + 1] == 'x') {
        word += static_cast<char>(std::stoi(line.substr(i + 2, 2), nullptr, 16));
        i += 3;
      } else {
        word += escaped ? line[++i] : line[i];
      }
    }
    words.push_back(word);
  }
  return words;
}

}  // namespace lexikos::fuzz

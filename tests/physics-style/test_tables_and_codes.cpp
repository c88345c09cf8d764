// Tied and untied tables, and fixed binary codes.
#include <set>

#include "embedding/binary_code/binary_code.hpp"
#include "harness/catch.hpp"
#include "harness/interface_fixture.hpp"
#include "utils/error.hpp"

using namespace lexikos;
using namespace lexikos::test;
using binary_code::Recoding;

namespace {

const std::vector<TokenId> ids = {0, 12, 5, 5, 0, 5, 7};  // of 13; repeats, both ends

void check_table(const std::string& interface, const std::string& table) {
  const Index v = 13, c = 5;
  InterfaceRig<double> rig(interface, "", v, c, v);
  const Doubles w = rig.value(table);
  Doubles expected;
  for (const TokenId id : ids) expected.insert(expected.end(), &w[id * c], &w[id * c] + c);
  CHECK(rig.at_positions(ids) == expected);
  CHECK(rig.vectors(ids) == expected);
  CHECK(rig.at_positions({0}) == Doubles(w.begin(), w.begin() + c));

  Random random(1);
  for (const auto& at : {ids, std::vector<TokenId>{0}, std::vector<TokenId>{12}}) {
    const Doubles dx = random.normals(static_cast<Index>(at.size()) * c);
    rig.zero_gradients();
    rig.backward(at, dx);
    const Doubles once = rig.gradient(table);
    Doubles by_hand(v * c, 0.0);  // in the same order, so the same bits
    for (std::size_t n = 0; n < at.size(); ++n) {
      for (Index i = 0; i < c; ++i) by_hand[at[n] * c + i] += dx[n * c + i];
    }
    CHECK(once == by_hand);
    const auto value = [&](const Doubles& moved) {
      rig.set_value(table, moved);
      return dot(dx, rig.at_positions(at));
    };
    CHECK(gradient_error(value, w, once, 1e-3, v * c) < gradient_tolerance);
    rig.set_value(table, w);
    rig.backward(at, dx);  // adds
    for (double& g : by_hand) g *= 2;
    CHECK(rig.gradient(table) == by_hand);
  }
}

std::vector<TokenId> all_tokens(Index v) {
  std::vector<TokenId> tokens(v);
  for (Index i = 0; i < v; ++i) tokens[i] = static_cast<TokenId>(i);
  return tokens;
}

/// Bit j of the K-bit code, most significant first.
int bit(std::uint32_t code, int j, int bits) { return code >> (bits - 1 - j) & 1u; }

std::string lift_lines(const std::string& lift, const std::string& values,
                       const std::string& recoding = "canonical", int seed = 1) {
  return "lift = \"" + lift + "\"\nvalues = \"" + values + "\"\nrecoding = \"" + recoding +
         "\"\nseed = " + std::to_string(seed) + "\n";
}

/// Rank over GF(2) of K rows, by elimination on the highest bits.
int rank_of(std::vector<std::uint32_t> rows) {
  int rank = 0;
  for (int column = 31; column >= 0; --column) {
    std::size_t pivot = rank;
    while (pivot < rows.size() && (rows[pivot] >> column & 1u) == 0) ++pivot;
    if (pivot == rows.size()) continue;
    std::swap(rows[rank], rows[pivot]);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (r != std::size_t(rank) && (rows[r] >> column & 1u)) rows[r] ^= rows[rank];
    }
    ++rank;
  }
  return rank;
}

bool is_bijection(const Recoding& recoding) {
  const std::uint32_t count = 1u << recoding.bits;
  std::vector<bool> met(count, false);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t code = binary_code::recode(recoding, i);
    if (code >= count || met[code]) return false;
    met[code] = true;
  }
  return true;
}

}  // namespace

TEST_CASE("tied is a row of the head's matrix", "[tied][gradient]") {
  check_table("tied", "head.weight");
  const InterfaceRig<float> rig("tied", "", 13, 5, 13);
  CHECK(rig.trainable() == 0);
  CHECK(rig.trainable() == 0);
  CHECK(rig.costs().shared == 65);
}

TEST_CASE("untied is a row of a table of its own", "[untied][gradient]") {
  check_table("untied", "embedding.untied.table");
  const InterfaceRig<double> rig("untied", "", 13, 5, 13);
  CHECK(rig.trainable() == 65);
  CHECK(rig.trainable() == 65);
  CHECK(rig.costs().shared == 0);
}

TEST_CASE("binary codes have ceil(log2 V) bits", "[binary_code]") {
  const std::pair<Index, int> known[] = {{1, 1},
                                         {2, 1},
                                         {3, 2},
                                         {4, 2},
                                         {5, 3},
                                         {49152, 16},
                                         {65536, 16},
                                         {65537, 17},
                                         {200019, 18},
                                         {1 << 17, 17},
                                         {Index{1} << 31, 31}};
  for (const auto& [v, bits] : known) CHECK(binary_code::bits_of(v) == bits);
}

TEST_CASE("canonical codes are the id's bits, most significant first", "[binary_code]") {
  for (const int bits : {1, 2, 7, 16, 17, 31, 32}) {
    const Recoding identity = binary_code::canonical(bits);
    Random random(bits);
    const std::uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
    for (int i = 0; i < 200; ++i) {
      const std::uint32_t token = static_cast<std::uint32_t>(random.bits()) & mask;
      CHECK(binary_code::recode(identity, token) == token);
    }
  }
  // Token 6 of 8, tiled to 7 coordinates: 1 1 0, 1 1 0, 1.
  InterfaceRig<double> rig("binary_code", "", 8, 7, 8);
  CHECK(rig.vectors({6}) == Doubles{1, 1, 0, 1, 1, 0, 1});
  CHECK(rig.vectors({0}) == Doubles(7, 0.0));
  CHECK(rig.vectors({1}) == Doubles{0, 0, 1, 0, 0, 1, 0});
}

TEST_CASE("binary codes, tiled or each bit in place, as 0 and 1 or -1 and +1", "[binary_code]") {
  struct Shape {
    Index v, width;
  };
  // K divides D; it does not; D barely holds K; D = K; many bits that do not divide D.
  for (const Shape& s : {Shape{16, 12}, Shape{16, 10}, Shape{100, 9}, Shape{100, 7},
                         Shape{65536, 128}, Shape{200019, 64}, Shape{200019, 128}}) {
    const int bits = binary_code::bits_of(s.v);
    std::vector<TokenId> tokens = all_tokens(std::min<Index>(s.v, 100));
    tokens.push_back(static_cast<TokenId>(s.v - 1));
    const Index u = static_cast<Index>(tokens.size());
    for (const bool centred : {false, true}) {
      CAPTURE(s.v, s.width, bits, centred);
      const std::string values = centred ? "plus_minus" : "zero_one";
      InterfaceRig<double> tile("binary_code", lift_lines("tile", values), s.v, s.width, u);
      InterfaceRig<double> place("binary_code", lift_lines("interleave", values), s.v, s.width, u);
      const Doubles tiled = tile.vectors(tokens), placed = place.vectors(tokens);
      bool tile_right = true, place_is_permutation = true;
      for (Index i = 0; i < u; ++i) {
        for (Index c = 0; c < s.width; ++c) {
          const int b = bit(tokens[i], static_cast<int>(c % bits), bits);
          tile_right = tile_right && tiled[i * s.width + c] == (b ? 1 : centred ? -1 : 0);
        }
        // The lifts differ by a permutation: bit j stands as often, now side by side.
        Index c = 0;
        for (int j = 0; j < bits; ++j) {
          const Index times = s.width / bits + (j < s.width % bits ? 1 : 0);
          for (Index n = 0; n < times; ++n, ++c) {
            place_is_permutation =
                place_is_permutation && placed[i * s.width + c] == tiled[i * s.width + j];
          }
        }
      }
      CHECK(tile_right);
      CHECK(place_is_permutation);
      // Different tokens have different vectors.
      for (const Doubles& e : {tiled, placed}) {
        std::set<Doubles> rows;
        for (Index i = 0; i < u; ++i) {
          rows.emplace(e.begin() + i * s.width, e.begin() + (i + 1) * s.width);
        }
        CHECK(rows.size() == std::set<TokenId>(tokens.begin(), tokens.end()).size());
      }
    }
  }
}

TEST_CASE("affine recoding is a bijection, for every K up to 17 and 100 seeds", "[binary_code]") {
  // The codes of V <= 2^K tokens are then different too: they are some of these.
  for (int bits = 1; bits <= 17; ++bits) {
    for (int seed = 0; seed < 100; ++seed) {
      CAPTURE(seed, bits);
      CHECK(is_bijection(binary_code::affine(bits, seed)));
    }
  }
}

TEST_CASE("every vocabulary up to 2^17 has the fewest bits that tell its tokens apart",
          "[binary_code]") {
  Index wrong = 0;
  for (Index v = 1; v <= Index{1} << 17; ++v) {
    const int bits = binary_code::bits_of(v);
    const bool enough = Index{1} << bits >= v, fewest = bits == 1 || Index{1} << (bits - 1) < v;
    wrong += !(enough && fewest);
  }
  CHECK(wrong == 0);
}

TEST_CASE("affine recoding: the matrix is invertible and the map affine", "[binary_code]") {
  std::set<std::vector<std::uint32_t>> matrices;
  std::set<std::uint32_t> shifts;
  double ones = 0, all = 0;
  for (int seed = 0; seed < 100; ++seed) {
    for (const int bits : {1, 5, 16, 17, 32}) {
      CAPTURE(seed, bits);
      const Recoding a = binary_code::affine(bits, seed);
      const std::vector<std::uint32_t> rows(a.row.begin(), a.row.begin() + bits);
      CHECK(rank_of(rows) == bits);
      // A(x + y) + A 0 = A x + A y: what is left without the shift is linear.
      Random random(seed);
      const std::uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
      const auto x = static_cast<std::uint32_t>(random.bits()) & mask,
                 y = static_cast<std::uint32_t>(random.bits()) & mask;
      using binary_code::recode;
      CHECK((recode(a, x ^ y) ^ recode(a, 0)) == (recode(a, x) ^ recode(a, y)));
      CHECK(recode(a, 0) == a.shift);
      CHECK((recode(a, x) & ~mask) == 0);
      // By the definition: bit K - 1 - r of the result is row r times x.
      for (int r = 0; r < bits; ++r) {
        int parity = 0;
        for (int j = 0; j < bits; ++j) parity ^= (a.row[r] >> j & 1u) & (x >> j & 1u);
        CHECK((((recode(a, x) ^ a.shift) >> (bits - 1 - r)) & 1u) == std::uint32_t(parity));
      }
      if (bits == 16) {
        matrices.insert(rows);
        shifts.insert(a.shift);
        for (const std::uint32_t row : rows) ones += __builtin_popcount(row);
        all += 256;
      }
    }
  }
  CHECK(matrices.size() == 100);
  CHECK(shifts.size() > 95);
  CHECK(ones / all == Approx(0.5).margin(5 * 0.5 / std::sqrt(25600.0)));
  // The same seed gives the same map.
  CHECK(binary_code::affine(16, 7).row == binary_code::affine(16, 7).row);
}

TEST_CASE("the affine interface is the recoded word, lifted", "[binary_code]") {
  const Index v = 100, width = 16;
  for (const int seed : {0, 1, 99}) {
    InterfaceRig<double> rig("binary_code", lift_lines("tile", "plus_minus", "affine", seed), v,
                             width, v);
    const Recoding a = binary_code::affine(7, seed);
    const Doubles e = rig.vectors(all_tokens(v));
    std::set<Doubles> rows;
    bool right = true;
    for (Index i = 0; i < v; ++i) {
      const std::uint32_t code = binary_code::recode(a, static_cast<std::uint32_t>(i));
      for (Index c = 0; c < width; ++c) {
        right = right && e[i * width + c] == (bit(code, static_cast<int>(c % 7), 7) ? 1 : -1);
      }
      rows.emplace(e.begin() + i * width, e.begin() + (i + 1) * width);
    }
    CHECK(right);
    CHECK(rows.size() == 100);
  }
}

TEST_CASE("binary codes train nothing", "[binary_code]") {
  InterfaceRig<double> rig("binary_code", "", 13, 8, 13);
  CHECK(rig.trainable() == 0);
  CHECK(rig.trainable() == 0);
  CHECK(rig.costs().shared == 0);
  rig.zero_gradients();
  rig.backward(ids, Doubles(ids.size() * 8, 1.0));
  CHECK(largest(rig.gradient("head.weight")) == 0);
  InterfaceRig<float> one("binary_code", "", 1, 4, 1);
  CHECK(one.vectors({0}) == Doubles(4, 0.0));
}

TEST_CASE("a code that does not fit in the width is refused", "[binary_code]") {
  CHECK_THROWS_AS(InterfaceRig<double>("binary_code", "", 100, 6, 4), Error);  // 7 bits
  CHECK_NOTHROW(InterfaceRig<double>("binary_code", "", 100, 7, 4));
}

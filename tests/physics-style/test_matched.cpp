// albert, flat_mlp and factored_mlp: dense references, gradients, and sizes that match LEV's.
#include <cstdlib>

#include "embedding/lev/lev.hpp"
#include "harness/catch.hpp"
#include "harness/interface_fixture.hpp"
#include "harness/reference.hpp"
#include "utils/error.hpp"

using namespace lexikos;
using namespace lexikos::test;

namespace {

const std::vector<TokenId> ids = {0, 12, 5, 5, 0, 5, 7};  // of 13; repeats, both ends

/// out[u o] = sum_i x[u i] w[o i].
Doubles linear(const Doubles& x, const Doubles& w, Index inputs, Index outputs) {
  const Index rows = static_cast<Index>(x.size()) / inputs;
  Doubles y(rows * outputs, 0.0);
  for (Index u = 0; u < rows; ++u) {
    for (Index o = 0; o < outputs; ++o) {
      for (Index i = 0; i < inputs; ++i)
        y[u * outputs + o] += x[u * inputs + i] * w[o * inputs + i];
    }
  }
  return y;
}

/// What W_2 gelu(W_1 norm(code)) may be off by, relative to the largest element: sums of squares,
/// of `code_width` and of `hidden` terms, and of `digits` codes; a gelu is a sum of 8 roundings.
double mlp_error(Index digits, Index code_width, Index hidden) {
  return rounding_of_sums<double>(digits + 2 * code_width + 8 + hidden, 1);
}

/// W_2 gelu(W_1 norm(code)), norm with epsilon 1e-8.
Doubles mlp(const InterfaceRig<double>& rig, const std::string& package, const Doubles& codes,
            Index code_width, Index hidden) {
  const std::string prefix = "embedding." + package + ".";
  const Index rows = static_cast<Index>(codes.size()) / code_width;
  const Doubles normal =
      reference::rmsnorm(codes, rig.value(prefix + "norm"), rows, code_width, 1e-8);
  const Doubles inner =
      reference::gelu(linear(normal, rig.value(prefix + "up"), code_width, hidden));
  return linear(inner, rig.value(prefix + "down"), hidden, rig.width());
}

/// Each parameter of order one, so that no gradient is small by accident.
void randomise(InterfaceRig<double>& rig) {
  Random random(4);
  for (const ParameterInfo& info : rig.parameters().infos()) {
    rig.set_value(info.name, random.normals(info.size, 0.5, info.init.mean));
  }
}

void check_gradients(InterfaceRig<double>& rig) {
  Random random(9);
  for (const auto& at : {ids, std::vector<TokenId>{0}, std::vector<TokenId>{12}}) {
    const Doubles dx = random.normals(static_cast<Index>(at.size()) * rig.width());
    rig.zero_gradients();
    rig.backward(at, dx);
    for (const ParameterInfo& info : rig.parameters().infos()) {
      if (info.name == "head.weight") continue;
      CAPTURE(info.name, at.size());
      const Doubles start = rig.value(info.name), gradient = rig.gradient(info.name);
      const auto value = [&](const Doubles& moved) {
        rig.set_value(info.name, moved);
        return dot(dx, rig.at_positions(at));
      };
      CHECK(gradient_error(value, start, gradient, 1e-3) < gradient_tolerance);
      rig.set_value(info.name, start);
    }
  }
}

}  // namespace

TEST_CASE("albert is a narrow row times a map", "[albert][gradient]") {
  const Index v = 13, c = 5, e = 3;
  InterfaceRig<double> rig("albert", "rank = 3\n", v, c, v);
  randomise(rig);
  const Doubles table = rig.value("embedding.albert.table"),
                map = rig.value("embedding.albert.map");
  Doubles expected;
  for (const TokenId id : ids) {
    for (Index i = 0; i < c; ++i) {
      double sum = 0;
      for (Index k = 0; k < e; ++k) sum += table[id * e + k] * map[k * c + i];
      expected.push_back(sum);
    }
  }
  const double limit = rounding_of_sums<double>(e, double(e) * largest(table) * largest(map));
  CHECK(absolute_error(rig.at_positions(ids), expected) < limit);
  CHECK(absolute_error(rig.vectors(ids), expected) < limit);
  check_gradients(rig);
  CHECK(rig.trainable() == e * (v + c));
}

TEST_CASE("flat_mlp maps a code of its own", "[flat_mlp][gradient]") {
  const Index v = 13, c = 5, e = 3, f = 7;
  InterfaceRig<double> rig("flat_mlp", "code_width = 3\nhidden = 7\n", v, c, v);
  randomise(rig);
  const Doubles table = rig.value("embedding.flat_mlp.table");
  Doubles codes;
  for (const TokenId id : ids) codes.insert(codes.end(), &table[id * e], &table[id * e] + e);
  CHECK(relative_error(rig.at_positions(ids), mlp(rig, "flat_mlp", codes, e, f)) <
        mlp_error(1, e, f));
  check_gradients(rig);
  CHECK(rig.trainable() == v * e + e + f * (e + c));
}

TEST_CASE("factored_mlp maps LEV's seed", "[factored_mlp][gradient]") {
  const Index v = 13, c = 5, d = 4, f = 6, b = 3;  // 3^3 = 27 >= 13 > 2^3
  InterfaceRig<double> rig("factored_mlp", "seed_width = 4\nhidden = 6\n", v, c, v);
  randomise(rig);
  const Doubles books = rig.value("embedding.factored_mlp.codebooks");
  REQUIRE(books.size() == std::size_t(3 * b * d));
  Doubles seeds;
  for (const TokenId id : ids) {
    for (Index i = 0; i < d; ++i) {
      seeds.push_back(books[(id / 9) * d + i] + books[(b + id / 3 % 3) * d + i] +
                      books[(2 * b + id % 3) * d + i]);
    }
  }
  CHECK(relative_error(rig.at_positions(ids), mlp(rig, "factored_mlp", seeds, d, f)) <
        mlp_error(b, d, f));
  check_gradients(rig);
  CHECK(rig.trainable() == 3 * b * d + d + f * (d + c));
}

TEST_CASE("matched interfaces have as many parameters as LEV", "[albert][flat_mlp][factored_mlp]") {
  const Index v = 8192, c = 256;
  const Index target = 3 * 21 * 128 + 8 * (128 * 128 + 2 * 128) + 8 * 128 * 16 * 64 + 8 * 64 * c;
  CHECK(InterfaceRig<float>("lev", "", v, c, 4).trainable() == target);
  struct Matched {
    const char* name;
    Index unit;  // what one step of the free size adds
  };
  for (const Matched& m :
       {Matched{"albert", v + c}, Matched{"flat_mlp", 4 + c}, Matched{"factored_mlp", 128 + c}}) {
    CAPTURE(m.name);
    const InterfaceRig<float> rig(m.name, "", v, c, 4);
    CHECK(std::abs(rig.trainable() - target) <= m.unit / 2 + 1);
    CHECK(rig.costs().matched_to == target);
  }
}

TEST_CASE("a match that cannot be is one clear line", "[albert][flat_mlp]") {
  // LEV needs 1.9 M parameters at D 512, a table of 4 columns and 1,000,000 rows more.
  const auto complaint = [](const char* name, Index vocabulary) -> std::string {
    try {
      InterfaceRig<float>(name, "", vocabulary, 512, 4);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(complaint("flat_mlp", 1000000).find("embedding.flat_mlp.hidden") != std::string::npos);
  CHECK(complaint("albert", 10000000).find("embedding.albert.rank") != std::string::npos);
  CHECK(complaint("flat_mlp", 8192).empty());
}

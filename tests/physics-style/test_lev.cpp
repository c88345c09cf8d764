// LEV against its dense reference, and its gradients.
#include <set>

#include "embedding/codebooks.hpp"
#include "embedding/lev/lev.hpp"
#include "harness/catch.hpp"
#include "harness/interface_fixture.hpp"
#include "harness/reference_lev.hpp"
#include "utils/error.hpp"

using namespace lexikos;
using namespace lexikos::test;
using reference::LevParameters;
using reference::LevSizes;

namespace {

/// What a product of `factors` may be off by, relative: 16 u for each, a few of its own (in the
/// reference, those of its logarithm) and, through its coordinate, those of sums of d terms. Where
/// coordinates are steep, the slope by the spline amplifies theirs by up to kappa: d kappa factors.
template <class S>
double product_error(Index factors) {
  return 16 * static_cast<double>(factors) * (roundoff<S> + roundoff<double>);
}

std::string lines(const LevSizes& z, Index base = 0) {
  return "codebooks = " + std::to_string(z.codebooks) + "\nbase = " + std::to_string(base) +
         "\nseed_width = " + std::to_string(z.seed_width) + "\nheads = " + std::to_string(z.heads) +
         "\nknots = " + std::to_string(z.knots) + "\nrank = " + std::to_string(z.rank) + "\n";
}

const char* const names[] = {"codebooks", "mix", "gain", "bias", "spline", "out"};

Doubles& part(LevParameters& p, const std::string& name) {
  if (name == "codebooks") return p.codebooks;
  if (name == "mix") return p.mix;
  if (name == "gain") return p.gain;
  if (name == "bias") return p.bias;
  return name == "spline" ? p.spline : p.out;
}

template <class S>
struct Lev {
  LevSizes z;
  Index vocabulary;
  InterfaceRig<S> rig;

  Lev(const LevSizes& sizes, Index v, Index distinct_max = 64, Index base = 0)
      : z(sizes), vocabulary(v), rig("lev", lines(sizes, base), v, sizes.width, distinct_max) {}

  LevParameters parameters() const {
    LevParameters p;
    for (const char* const name : names) part(p, name) = rig.value(full(name));
    return p;
  }
  void set(LevParameters p) {
    for (const char* const name : names) rig.set_value(full(name), part(p, name));
  }
  static std::string full(const std::string& name) { return "embedding.lev." + name; }
};

/// Values far from the initial ones: coordinates reach both ends, factors have both signs.
LevParameters wide(const LevSizes& z, std::uint64_t seed) {
  Random random(seed);
  const Index hd = z.heads * z.seed_width;
  return {random.normals(z.codebooks * z.base * z.seed_width),
          random.normals(hd * z.seed_width),
          random.normals(hd, 4.0),
          random.normals(hd, 3.0),
          random.normals(hd * z.knots * z.rank, 0.8, 0.4),
          random.normals(z.heads * z.rank * z.width)};
}

struct Case {
  Index vocabulary;
  LevSizes z;  // base is what the code has to choose
};

// V below b^k; b^k itself; one, two and four digits; kappa 2; one head (its tokens are shared among
// tasks) and several; widths that nothing divides; one token in all.
const Case cases[] = {{29, {3, 4, 6, 2, 5, 3, 10}},   {27, {3, 3, 5, 1, 2, 4, 7}},
                      {11, {1, 11, 4, 3, 3, 2, 5}},   {100, {2, 10, 7, 2, 16, 5, 9}},
                      {1000, {4, 6, 3, 1, 7, 1, 4}},  {1, {3, 1, 4, 2, 4, 2, 3}},
                      {70000, {3, 42, 9, 2, 8, 3, 6}}};

std::vector<TokenId> some_tokens(Index vocabulary, Index count, std::uint64_t seed) {
  Random random(seed);
  std::vector<TokenId> tokens = random.tokens(count, vocabulary);
  tokens[0] = 0;
  if (count > 1) tokens[1] = static_cast<TokenId>(vocabulary - 1);
  return tokens;
}

}  // namespace

TEST_CASE("lev agrees with its dense reference", "[lev]") {
  for (const Case& c : cases) {
    CAPTURE(c.vocabulary, c.z.seed_width, c.z.knots);
    Lev<double> lev(c.z, c.vocabulary);
    REQUIRE(lev.parameters().codebooks.size() ==
            static_cast<std::size_t>(c.z.codebooks * c.z.base * c.z.seed_width));
    const std::vector<TokenId> tokens = some_tokens(c.vocabulary, 40, 1);
    // As initialised, and far from that.
    CHECK(relative_error(lev.rig.vectors(tokens), reference::lev(tokens, lev.parameters(), c.z)) <
          product_error<double>(c.z.seed_width));
    const LevParameters p = wide(c.z, 2);
    lev.set(p);
    CHECK(relative_error(lev.rig.vectors(tokens), reference::lev(tokens, p, c.z)) <
          product_error<double>(c.z.seed_width * c.z.knots));
  }
}

TEST_CASE("lev: every knot is used, both ends included", "[lev]") {
  const LevSizes z{3, 5, 8, 4, 16, 3, 6};
  Lev<double> lev(z, 125);
  const LevParameters p = wide(z, 3);
  lev.set(p);
  std::vector<TokenId> tokens(64);
  for (TokenId i = 0; i < 64; ++i) tokens[i] = 2 * i;
  std::set<Index> met;
  for (const Index cell : reference::lev_cells(tokens, p, z)) met.insert(cell);
  CHECK(met.size() == 16);
  CHECK(*met.rbegin() == 15);
  CHECK(relative_error(lev.rig.vectors(tokens), reference::lev(tokens, p, z)) <
        product_error<double>(z.seed_width * z.knots));
}

TEST_CASE("lev at its default sizes and a vocabulary past 16 bits", "[lev]") {
  const LevSizes z{3, 59, 128, 8, 16, 64, 32};
  const std::vector<TokenId> tokens = {0, 1, 65536, 200018, 123456};
  Lev<double> lev(z, 200019, 5);
  const LevParameters p = lev.parameters();
  const Doubles expected = reference::lev(tokens, p, z), found = lev.rig.vectors(tokens);
  CHECK(relative_error(found, expected) < product_error<double>(128));
  // The published form adds 1e-9 to every |phi|, which are about 1: d 1e-9 relative.
  CHECK(relative_error(found, reference::lev(tokens, p, z, 1e-9)) < 2 * 128 * 1e-9);

  Lev<float> single(z, 200019, 5);
  CHECK(relative_error(single.rig.vectors(tokens), expected) < product_error<float>(128));
}

TEST_CASE("lev: a token's vector depends on the token only", "[lev]") {
  const LevSizes z{3, 4, 6, 1, 5, 3, 10};
  Lev<double> lev(z, 29);
  lev.set(wide(z, 4));
  const std::vector<TokenId> tokens = {7, 0, 28, 7, 7, 13, 0};
  const Doubles together = lev.rig.vectors(tokens);
  for (std::size_t u = 0; u < tokens.size(); ++u) {
    const Doubles alone = lev.rig.vectors({tokens[u]});
    CHECK(std::equal(alone.begin(), alone.end(), together.begin() + u * z.width));
  }
  CHECK(lev.rig.at_positions(tokens) == together);
  // No two tokens of the vocabulary share a vector.
  std::vector<TokenId> all(29);
  for (TokenId i = 0; i < 29; ++i) all[i] = i;
  const Doubles e = lev.rig.vectors(all);
  for (Index i = 0; i < 29; ++i) {
    for (Index j = 0; j < i; ++j) {
      CHECK_FALSE(std::equal(&e[i * z.width], &e[(i + 1) * z.width], &e[j * z.width]));
    }
  }
}

TEST_CASE("lev's gradients agree with differences", "[lev][gradient]") {
  struct Run {
    Case c;
    Index positions;
    bool initial;
  };
  const Run runs[] = {{cases[0], 12, false}, {cases[0], 1, false},  {cases[1], 9, false},
                      {cases[2], 9, false},  {cases[3], 15, false}, {cases[4], 6, false},
                      {cases[6], 8, true}};
  for (const Run& run : runs) {
    const LevSizes& z = run.c.z;
    CAPTURE(run.c.vocabulary, z.seed_width, z.knots, run.positions);
    Lev<double> lev(z, run.c.vocabulary);
    const LevParameters p = run.initial ? lev.parameters() : wide(z, 5);
    lev.set(p);
    std::vector<TokenId> ids = some_tokens(run.c.vocabulary, run.positions, 6);
    if (run.positions > 4) ids[4] = ids[3] = ids[0];  // repeats, token 0 among them
    Random random(7);
    const Doubles dx = random.normals(run.positions * z.width);

    lev.rig.zero_gradients();
    lev.rig.backward(ids, dx);
    std::vector<Doubles> once;
    for (const char* const name : names) once.push_back(lev.rig.gradient(lev.full(name)));
    lev.rig.backward(ids, dx);  // adds

    const auto cells = reference::lev_cells(ids, p, z);
    Index crossings = 0;
    for (std::size_t i = 0; i < once.size(); ++i) {
      const std::string name = names[i];
      CAPTURE(name);
      LevParameters moved = p;
      const auto value = [&](const Doubles& at) {
        part(moved, name) = at;
        crossings += reference::lev_cells(ids, moved, z) != cells;
        lev.rig.set_value(lev.full(name), at);
        return dot(dx, lev.rig.at_positions(ids));
      };
      // The map's second derivative jumps between cells, so steps are small enough to stay in one.
      const bool smooth = name == "spline" || name == "out";
      const Doubles start = part(moved, name);
      CHECK(gradient_error(value, start, once[i], smooth ? 1e-3 : 1e-6, 12) < gradient_tolerance);
      lev.rig.set_value(lev.full(name), start);
      Doubles twice = once[i];
      for (double& g : twice) g *= 2;
      CHECK(relative_error(lev.rig.gradient(lev.full(name)), twice) <
            rounding_of_sums<double>(2 * run.positions, 1));
    }
    CHECK(crossings == 0);  // else choose other random values
  }
}

TEST_CASE("lev: factors that are exactly zero", "[lev][gradient]") {
  const LevSizes z{2, 6, 5, 2, 4, 3, 6};
  for (const int zeros : {1, 2}) {
    CAPTURE(zeros);
    Lev<double> lev(z, 36);
    LevParameters p = wide(z, 8);
    // Head 0, product 1: the first factors are zero for every token.
    for (Index c = 0; c < zeros; ++c) {
      for (Index m = 0; m < z.knots; ++m) p.spline[(c * z.knots + m) * z.rank + 1] = 0;
    }
    lev.set(p);
    const std::vector<TokenId> ids = {0, 35, 7, 7, 20};
    const Doubles e = lev.rig.at_positions(ids);
    CHECK(relative_error(e, reference::lev(ids, p, z)) <
          product_error<double>(z.seed_width * z.knots));

    Random random(9);
    const Doubles dx = random.normals(static_cast<Index>(ids.size()) * z.width);
    lev.rig.zero_gradients();
    lev.rig.backward(ids, dx);
    const Doubles d = lev.rig.gradient("embedding.lev.spline");
    double at_zero = 0;
    for (Index m = 0; m < z.knots; ++m) {
      at_zero = std::max(at_zero, std::abs(d[m * z.rank + 1]));
    }
    // With one zero its own gradient is the product of the others; with two all are zero.
    CHECK((zeros == 1 ? at_zero > 1e-3 : at_zero == 0));
    const auto value = [&](const Doubles& at) {
      lev.rig.set_value("embedding.lev.spline", at);
      return dot(dx, lev.rig.at_positions(ids));
    };
    CHECK(gradient_error(value, p.spline, d, 1e-3, 24) < gradient_tolerance);
    Doubles direction(d.size(), 0.0);
    for (Index m = 0; m < z.knots; ++m) direction[m * z.rank + 1] = 1;
    CHECK(derivative(value, p.spline, direction, 1e-3) ==
          Approx(dot(d, direction)).epsilon(gradient_tolerance));
    lev.rig.set_value("embedding.lev.spline", p.spline);
    const Doubles bias = lev.rig.gradient("embedding.lev.bias");
    const auto of_bias = [&](const Doubles& at) {
      lev.rig.set_value("embedding.lev.bias", at);
      return dot(dx, lev.rig.at_positions(ids));
    };
    CHECK(gradient_error(of_bias, p.bias, bias, 1e-6) < gradient_tolerance);
  }
}

TEST_CASE("lev: products of 512 factors", "[lev][gradient]") {
  const LevSizes z{3, 3, 512, 1, 16, 4, 5};
  Lev<double> lev(z, 20, 8);
  LevParameters p = lev.parameters();
  const std::vector<TokenId> ids = {0, 3, 3, 19};
  Random random(10);
  const Doubles dx = random.normals(static_cast<Index>(ids.size()) * z.width);
  // As initialised (S about 1), and with factors near 3 before factors near 1/3, so that products
  // on the way are near 1e122 and the whole is near 1 again.
  for (const bool uneven : {false, true}) {
    CAPTURE(uneven);
    for (Index c = 0; uneven && c < z.seed_width; ++c) {
      for (Index i = 0; i < z.knots * z.rank; ++i) {
        p.spline[c * z.knots * z.rank + i] *= c < z.seed_width / 2 ? 3.0 : 1.0 / 3;
      }
    }
    lev.set(p);
    CHECK(relative_error(lev.rig.at_positions(ids), reference::lev(ids, p, z)) <
          product_error<double>(512));
    lev.rig.zero_gradients();
    lev.rig.backward(ids, dx);
    for (const std::string name : {"spline", "gain"}) {
      const Doubles gradient = lev.rig.gradient(lev.full(name));
      const auto value = [&](const Doubles& at) {
        lev.rig.set_value(lev.full(name), at);
        return dot(dx, lev.rig.at_positions(ids));
      };
      CHECK(gradient_error(value, part(p, name), gradient, name == "spline" ? 1e-4 : 1e-6, 6) <
            gradient_tolerance);
      lev.rig.set_value(lev.full(name), part(p, name));
    }
  }
  // The same in fp32, whose products on the way would overflow if they were not kept in double.
  Lev<float> single(z, 20, 8);
  single.set(p);
  CHECK(relative_error(single.rig.at_positions(ids), reference::lev(ids, p, z)) <
        product_error<float>(512));
}

TEST_CASE("lev: zeros and tiny and huge factors among 512", "[lev][gradient]") {
  const LevSizes z{3, 3, 512, 2, 4, 3, 5};
  Lev<double> lev(z, 20, 8);
  const LevParameters start = lev.parameters();
  const std::vector<TokenId> ids = {0, 3, 3, 19};
  Random random(11);
  const Doubles dx = random.normals(static_cast<Index>(ids.size()) * z.width);
  const Index channel = z.knots * z.rank;  // spline values of one factor
  const auto scaled = [&](auto factor_of) {
    LevParameters p = start;
    for (std::size_t i = 0; i < p.spline.size(); ++i) {
      p.spline[i] *= factor_of(static_cast<Index>(i) / channel % z.seed_width);
    }
    return p;
  };
  const double limit = product_error<double>(512), single_limit = product_error<float>(512);
  const auto gradients = [&](std::initializer_list<const char*> of) {
    lev.rig.zero_gradients();
    lev.rig.backward(ids, dx);
    Doubles all;
    for (const char* const name : of) {
      const Doubles g = lev.rig.gradient(lev.full(name));
      all.insert(all.end(), g.begin(), g.end());
    }
    return all;
  };

  // One tiny and one huge factor, in either order: the product is what it was, and so are the
  // gradients of all that does not belong to these two splines.
  lev.set(start);
  const Doubles expected = lev.rig.at_positions(ids), bias = gradients({"bias"}),
                out = gradients({"out"});
  for (const double tiny : {1e-30, 1e30}) {
    CAPTURE(tiny);
    const LevParameters p = scaled([&](Index c) {
      return c == 0 ? tiny : c == 511 ? 1 / tiny : 1.0;
    });
    lev.set(p);
    CHECK(relative_error(lev.rig.at_positions(ids), expected) < limit);
    CHECK(relative_error(lev.rig.at_positions(ids), reference::lev(ids, p, z)) < limit);
    CHECK(relative_error(gradients({"bias"}), bias) < limit);
    CHECK(relative_error(gradients({"out"}), out) < limit);
    Lev<float> single(z, 20, 8);
    single.set(p);
    CHECK(relative_error(single.rig.at_positions(ids), expected) < single_limit);
  }
  // Half of the factors tiny and then half huge, or the other way round: what is multiplied first
  // leaves the range of double, the whole is what it was.
  for (const double first : {1e-2, 1e2, 1e-20, 1e20}) {
    CAPTURE(first);
    const LevParameters p =
        scaled([&](Index c) { return c < z.seed_width / 2 ? first : 1 / first; });
    lev.set(p);
    CHECK(relative_error(lev.rig.at_positions(ids), expected) < limit);
    CHECK(relative_error(gradients({"bias"}), bias) < limit);
    CHECK(relative_error(gradients({"out"}), out) < limit);
    Lev<float> single(z, 20, 8);
    single.set(p);
    CHECK(relative_error(single.rig.at_positions(ids), expected) < single_limit);
  }
  // All zero, and all so small that the product is below any number: zeros, no NaN, which a
  // logarithm or a division would give.
  for (const double small : {0.0, 1e-3, 1e-300}) {
    CAPTURE(small);
    lev.set(scaled([&](Index) { return small; }));
    CHECK(lev.rig.at_positions(ids) == Doubles(expected.size(), 0.0));
    CHECK(largest(gradients({"codebooks", "mix", "gain", "bias", "spline", "out"})) == 0);
  }
  // All so large that the product is above any number: never a finite value that looks right.
  lev.set(scaled([](Index) { return 1e3; }));
  for (const double value : lev.rig.at_positions(ids)) CHECK_FALSE(std::isfinite(value));
}

TEST_CASE("lev's gradients in fp32 are those in fp64", "[lev][gradient]") {
  // fp32 takes factors in groups: a seed width below one group, with a rest behind groups, and the
  // default. Zeros, and tiny and huge factors, fall into one group and into different ones.
  struct Planted {
    Index channel;
    double factor;
  };
  const std::vector<Planted> plans[] = {{},
                                        {{0, 0.0}},
                                        {{0, 0.0}, {1, 0.0}},
                                        {{0, 1e-30}, {1, 1e30}},
                                        {{0, 1e-30}, {2, 1e-30}, {1, 1e30}, {3, 1e30}},
                                        {{0, 1e30}, {1, 1e30}, {-2, 1e-30}, {-1, 1e-30}}};
  for (const Index width : {3, 6, 11, 128}) {
    const LevSizes z{2, 6, width, 2, 4, 3, 6};
    const std::vector<TokenId> ids = {0, 35, 7, 7, 20};
    const Doubles dx = Random(12).normals(static_cast<Index>(ids.size()) * z.width);
    for (const auto& plan : plans) {
      if (width < 4 && plan.size() > 2) continue;
      CAPTURE(width, plan.size());
      Lev<double> exact(z, 36, 8);
      LevParameters p = exact.parameters();
      for (const Planted& planted : plan) {
        const Index c = planted.channel < 0 ? width + planted.channel : planted.channel;
        for (Index i = 0; i < z.knots * z.rank; ++i) {
          p.spline[c * z.knots * z.rank + i] *= planted.factor;
        }
      }
      Lev<float> single(z, 36, 8);
      single.set(p);
      exact.set(single.parameters());  // the same rounded values
      exact.rig.zero_gradients();
      exact.rig.backward(ids, dx);
      single.rig.zero_gradients();
      single.rig.backward(ids, dx);
      const double tolerance = product_error<float>(width * z.knots);
      for (const std::string name : names) {
        CAPTURE(name);
        CHECK(relative_error(single.rig.gradient(single.full(name)),
                             exact.rig.gradient(exact.full(name))) < tolerance);
      }
      // By the logarithm of the spline, so that planted factors hide no other.
      const auto by_logarithm = [](const auto& lev) {
        Doubles g = lev.rig.gradient(lev.full("spline"));
        const Doubles spline = lev.rig.value(lev.full("spline"));
        for (std::size_t i = 0; i < g.size(); ++i) g[i] *= spline[i];
        return g;
      };
      CHECK(relative_error(by_logarithm(single), by_logarithm(exact)) < tolerance);
    }
  }
}

TEST_CASE("lev has the published number of parameters", "[lev]") {
  CHECK(smallest_base(200019, 3) == 59);
  const lev::Settings s = {.codebooks = 3, .seed_width = 128, .heads = 8, .knots = 16, .rank = 64};
  CHECK(lev::parameter_count(s, 59, 512) == 1466496);
  CHECK(lev::parameter_count(s, 59, 1024) == 1728640);
  CHECK(lev::parameter_count(s, 59, 2048) == 2252928);
  CHECK(2252928 / 1.2149e9 == Approx(0.0019).margin(5e-5));
  // What is counted is what is listed.
  for (const Case& c : cases) {
    const InterfaceRig<float> rig("lev", lines(c.z), c.vocabulary, c.z.width, 4);
    const LevSizes& z = c.z;
    const Index formula = z.codebooks * z.base * z.seed_width +
                          z.heads * (z.seed_width * z.seed_width + 2 * z.seed_width) +
                          z.heads * z.seed_width * z.knots * z.rank + z.heads * z.rank * z.width;
    CHECK(rig.trainable() == formula);
    CHECK(rig.trainable() == formula);
    CHECK(rig.costs().shared == 0);
  }
}

TEST_CASE("lev's smallest base", "[lev]") {
  for (const Index k : {1, 2, 3, 4, 5, 16}) {
    for (const Index v : {1, 2, 7, 8, 9, 26, 27, 28, 65535, 65536, 65537, 200019, 1 << 20}) {
      const Index b = smallest_base(v, k);
      const auto power = [&](Index base) {
        double value = 1;  // exact while it matters
        for (Index i = 0; i < k; ++i) value *= double(base);
        return value;
      };
      CAPTURE(k, v, b);
      CHECK(power(b) >= double(v));
      CHECK((b == 1 || power(b - 1) < double(v)));
    }
  }
}

TEST_CASE("lev: decay pulls the spline to one, and norms are left alone", "[lev]") {
  const InterfaceRig<float> rig("lev", "", 100, 8, 4);
  const auto decay = [&](const std::string& name) {
    return rig.parameters().find("embedding.lev." + name).info().decay;
  };
  CHECK(decay("spline") == Decay::to_one);
  CHECK(decay("gain") == Decay::none);
  CHECK(decay("bias") == Decay::none);
  for (const char* const name : {"codebooks", "mix", "out"}) CHECK(decay(name) == Decay::to_zero);
}

TEST_CASE("lev's initial values", "[lev]") {
  const InterfaceRig<double> rig("lev", "", 5000, 16, 4);
  const auto check = [&](const std::string& name, double mean, double deviation) {
    const Doubles x = rig.value("embedding.lev." + name);
    double sum = 0, squares = 0;
    for (const double value : x) {
      sum += value;
      squares += (value - mean) * (value - mean);
    }
    const double n = double(x.size());
    CAPTURE(name, n);
    CHECK(std::abs(sum / n - mean) <= 5 * deviation / std::sqrt(n));
    CHECK(std::abs(std::sqrt(squares / n) - deviation) <= 5 * deviation / std::sqrt(2 * n));
  };
  check("codebooks", 0, 0.02);
  check("mix", 0, 0.02);
  check("gain", 1, 0);
  check("bias", 0, 0);
  check("spline", 1, 0.1);
  check("out", 0, 0.02 / std::sqrt(8.0));
}

TEST_CASE("lev: a base that is too small is a clear error", "[lev]") {
  const LevSizes z{3, 2, 4, 2, 4, 2, 3};
  const auto message = [&](Index base, Index vocabulary) -> std::string {
    try {
      const InterfaceRig<float> rig("lev", lines(z, base), vocabulary, 3, 4);
    } catch (const Error& error) {
      CHECK(error.status() == Status::deck);
      return error.what();
    }
    return "";
  };
  CHECK(message(2, 8).empty());
  const std::string text = message(2, 9);
  for (const char* const word : {"test.toml", "embedding.lev.base", "2", "9"}) {
    CHECK(text.find(word) != std::string::npos);
  }
  // A larger base than needed is fine.
  Lev<double> lev({3, 7, 4, 2, 4, 2, 3}, 9, 8, 7);
  const std::vector<TokenId> tokens = {0, 8, 5};
  CHECK(relative_error(lev.rig.vectors(tokens), reference::lev(tokens, lev.parameters(), lev.z)) <
        product_error<double>(4));
}

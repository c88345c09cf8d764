// Whole models: gradients of every parameter, what must not change the loss, and parameter counts.
#include "harness/catch.hpp"
#include "harness/model_fixture.hpp"

using namespace lexikos;
using namespace lexikos::test;

namespace {

struct Interface {
  const char* name;
  std::string lines;
};

const Interface interfaces[] = {{"tied", ""},
                                {"untied", ""},
                                {"lev", small_lev},
                                {"binary_code", "recoding = \"affine\"\n"},
                                {"albert", "rank = 3\n"},
                                {"flat_mlp", "code_width = 3\nhidden = 7\n"},
                                {"factored_mlp", "seed_width = 4\nhidden = 6\n"}};

std::string backbone(Index layers, Index width, Index heads, Index context, const char* mlp) {
  return "layers = " + std::to_string(layers) + "\nwidth = " + std::to_string(width) +
         "\nheads = " + std::to_string(heads) + "\ncontext = " + std::to_string(context) +
         "\nmlp = \"" + mlp + "\"\nmlp_width = " + std::to_string(width + 5) + "\n";
}

constexpr Index vocabulary = 29;

/// What losses, relative, and gradients, relative to the largest, of at most two layers of width up
/// to 16 over 5 positions may differ by that were summed in two orders: as the logits, and the
/// gradients as forward, backward and the sum over at most 35 positions.
const double of_losses = likely_rounding<double>(terms_to_logits(2, 16, 4, 5, 21), 1);
const double of_gradients = likely_rounding<double>(3 * terms_to_logits(2, 16, 4, 5, 21) + 35, 1);

std::vector<TokenId> some_tokens(Index count, std::uint64_t seed) {
  Random random(seed);
  std::vector<TokenId> ids = random.tokens(count, vocabulary);
  ids[0] = 0;
  ids[1] = vocabulary - 1;
  return ids;
}

/// Each parameter against differences: a random direction and three elements.
void check_gradients(Setup<double>& setup) {
  randomise(setup, 11);
  setup.forward_backward();
  for (const std::string& name : setup.names()) {
    CAPTURE(name);
    const Doubles start = setup.value(name), gradient = setup.gradient(name);
    const auto value = [&](const Doubles& at) {
      setup.set_value(name, at);
      return setup.evaluate();
    };
    // LEV's second derivative jumps between knots: there, steps too small to meet a jump.
    const bool jumps = name.rfind("embedding.lev.", 0) == 0 && name != "embedding.lev.out" &&
                       name != "embedding.lev.spline";
    CHECK(gradient_error(value, start, gradient, jumps ? 2e-6 : 1e-3, 3, 1) < gradient_tolerance);
    setup.set_value(name, start);
  }
}

template <class S>
Doubles all_nll(Setup<S>& setup, Index positions) {
  return to_host(setup.model.nll(positions));
}

}  // namespace

TEST_CASE("the gradient of every parameter agrees with differences", "[model][gradient]") {
  for (const Interface& interface : interfaces) {
    for (const char* const mlp : {"swiglu", "gelu"}) {
      CAPTURE(interface.name, mlp);
      Setup<double> setup(
          deck_text(interface.name, backbone(mlp[0] == 's' ? 2 : 1, 8, 2, 5, mlp), interface.lines),
          vocabulary, some_tokens(16, 3), 3, 2);
      check_gradients(setup);
    }
  }
}

TEST_CASE("gradients where heads share keys and values", "[model][gradient]") {
  for (const Index kv_heads : {1, 2}) {
    CAPTURE(kv_heads);
    Setup<double> setup(deck_text("untied", backbone(2, 16, 4, 5, "swiglu") +
                                                "kv_heads = " + std::to_string(kv_heads) + "\n"),
                        vocabulary, some_tokens(16, 3), 3, 2);
    check_gradients(setup);
  }
}

TEST_CASE("gradients where layers have windows", "[model][gradient][window]") {
  Setup<double> setup(deck_text("untied", backbone(3, 16, 4, 7, "swiglu") +
                                              "window = 2\nwindow_pattern = [1, 0]\n"),
                      vocabulary, some_tokens(22, 3), 3, 2);
  check_gradients(setup);
}

TEST_CASE("gradients where heads of queries and keys are normalised", "[model][gradient]") {
  for (const Index kv_heads : {2, 4}) {
    CAPTURE(kv_heads);
    Setup<double> setup(
        deck_text("untied", backbone(2, 16, 4, 7, "swiglu") +
                                "qk_norm = true\nkv_heads = " + std::to_string(kv_heads) + "\n"),
        vocabulary, some_tokens(22, 3), 3, 2);
    check_gradients(setup);
  }
}

TEST_CASE("shared keys and values are repeated ones", "[model]") {
  // Weights of k and v repeated for every head of a group: the same model without sharing.
  const Index c = 16, heads = 4, kv_heads = 2, e = 4;
  const std::vector<TokenId> ids = some_tokens(16, 3);
  const std::string text = backbone(2, c, heads, 5, "swiglu");
  Setup<double> grouped(deck_text("tied", text + "kv_heads = 2\n"), vocabulary, ids, 3, 3);
  Setup<double> plain(deck_text("tied", text), vocabulary, ids, 3, 3);
  randomise(grouped, 31);
  for (const std::string& name : plain.names()) {
    Doubles value = grouped.value(name);
    if (name.find(".qkv") != std::string::npos) {
      Doubles repeated(value.begin(), value.begin() + c * c);
      for (Index part = 0; part < 2; ++part) {
        for (Index h = 0; h < heads; ++h) {
          const auto from = value.begin() + (c + (part * kv_heads + h / 2) * e) * c;
          repeated.insert(repeated.end(), from, from + e * c);
        }
      }
      value = repeated;
    }
    plain.set_value(name, value);
  }
  CHECK(plain.evaluate() == Approx(grouped.evaluate()).epsilon(of_losses));
  const Index saved = 2 * 2 * (heads - kv_heads) * e * c;
  CHECK(plain.model.parameters().count("transformer.") ==
        grouped.model.parameters().count("transformer.") + saved);
  CHECK(plain.model.costs().transformer.flops_per_token ==
        grouped.model.costs().transformer.flops_per_token + 6.0 * double(saved));
}

TEST_CASE("gradients of models with one position, one sequence, one head", "[model][gradient]") {
  struct Small {
    Index heads, context, sequences;
    const char* interface;
  };
  for (const Small& s : {Small{1, 1, 1, "untied"}, Small{3, 1, 3, "lev"}, Small{1, 6, 1, "tied"},
                         Small{1, 4, 2, "binary_code"}}) {
    CAPTURE(s.heads, s.context, s.sequences, s.interface);
    const std::string lines = std::string(s.interface) == "lev" ? small_lev : "";
    Setup<double> setup(deck_text(s.interface, backbone(1, 6, s.heads, s.context, "swiglu"), lines),
                        vocabulary, some_tokens(s.sequences * s.context + 1, 4), s.sequences,
                        s.sequences);
    check_gradients(setup);
  }
}

TEST_CASE("gradients are added", "[model][gradient]") {
  for (const Interface& interface : interfaces) {
    CAPTURE(interface.name);
    Setup<double> setup(deck_text(interface.name, backbone(1, 8, 2, 5, "swiglu"), interface.lines),
                        vocabulary, some_tokens(16, 3), 3, 2);
    randomise(setup, 12);
    setup.forward_backward();
    Doubles twice = to_host(setup.model.parameters().gradients());
    for (double& g : twice) g *= 2;
    const SumOnDevice sum;
    setup.model.forward_backward(ExecSpace(), setup.batch(), nullptr, sum.sum());
    Kokkos::fence();
    // Sums over 15 positions, twice.
    CHECK(relative_error(to_host(setup.model.parameters().gradients()), twice) <
          rounding_of_sums<double>(2 * 15, 1));
  }
}

TEST_CASE("a tied gradient is the input part plus the output part", "[model][gradient]") {
  const std::string text = backbone(2, 8, 2, 5, "swiglu");
  const std::vector<TokenId> ids = some_tokens(16, 5);
  Setup<double> tied(deck_text("tied", text), vocabulary, ids, 3, 2);
  Setup<double> untied(deck_text("untied", text), vocabulary, ids, 3, 2);
  randomise(tied, 13);
  for (const std::string& name : tied.names()) untied.set_value(name, tied.value(name));
  untied.set_value("embedding.untied.table", tied.value("head.weight"));

  CHECK(tied.forward_backward() == untied.forward_backward());
  const Doubles output = untied.gradient("head.weight"),
                input = untied.gradient("embedding.untied.table");
  Doubles both = output;
  for (std::size_t i = 0; i < both.size(); ++i) both[i] += input[i];
  // Sums over 15 positions, of either part.
  CHECK(relative_error(tied.gradient("head.weight"), both) < rounding_of_sums<double>(2 * 15, 1));
  // Either part alone would be noticed.
  CHECK(norm(input) > 0.01 * norm(both));
  CHECK(norm(output) > 0.01 * norm(both));
  // The backbone's gradient is the same.
  CHECK(tied.gradient("transformer.0.qkv") == untied.gradient("transformer.0.qkv"));
}

TEST_CASE("micro-batch and head chunk change nothing", "[model]") {
  const std::vector<TokenId> ids = some_tokens(36, 6);
  for (const Interface& interface : interfaces) {
    CAPTURE(interface.name);
    double loss = 0;
    Doubles gradients, nll;
    for (const Index micro : {7, 1, 2, 3, 4}) {
      for (const Index chunk : {7, 1, 1000}) {
        if (chunk != 7 && micro != 3) continue;
        CAPTURE(micro, chunk);
        Setup<double> setup(
            deck_text(interface.name, backbone(2, 8, 2, 5, "swiglu"), interface.lines, chunk),
            vocabulary, ids, 7, micro);
        randomise(setup, 14);
        const double found = setup.forward_backward();
        const Doubles g = to_host(setup.model.parameters().gradients()), n = all_nll(setup, 35);
        if (micro == 7) {
          loss = found;
          gradients = g;
          nll = n;
        }
        CHECK(found == Approx(loss).epsilon(of_losses));
        CHECK(relative_error(n, nll) < of_losses);
        CHECK(relative_error(g, gradients) < of_gradients);
      }
    }
  }
}

TEST_CASE("micro-batches of 29 and 3 targets weigh by their targets", "[model]") {
  const std::vector<TokenId> ids = some_tokens(33, 8);
  const std::string text =
      deck_text("untied", "layers = 1\nwidth = 8\nheads = 2\nmlp_width = 12\ncontext = 1\n");
  const auto run = [&](Index micro) {
    auto setup = std::make_unique<Setup<double>>(text, vocabulary, ids, 32, micro);
    randomise(*setup, 15);
    return setup;
  };
  const auto whole = run(32), parts = run(29);
  REQUIRE(parts->batch().micro.size() == 2);
  REQUIRE(parts->batch().micro[1].input.sequences == 3);
  const double loss = whole->forward_backward(), in_parts = parts->forward_backward();
  const Doubles nll = all_nll(*whole, 32);
  double mean_of_means = 0;
  for (Index n = 0; n < 32; ++n) mean_of_means += nll[n] / (n < 29 ? 58 : 6);
  CHECK(std::abs(mean_of_means - loss) > 1e-3);  // the two would be told apart
  CHECK(in_parts == Approx(loss).epsilon(of_losses));
  CHECK(relative_error(to_host(parts->model.parameters().gradients()),
                       to_host(whole->model.parameters().gradients())) < of_gradients);
}

TEMPLATE_TEST_CASE("evaluation gives training's loss, and the same every time", "[model]", float,
                   double) {
  using S = TestType;
  for (const Interface& interface : interfaces) {
    CAPTURE(interface.name);
    Setup<S> setup(deck_text(interface.name, backbone(2, 8, 2, 5, "swiglu"), interface.lines),
                   vocabulary, some_tokens(16, 7), 3, 2);
    randomise(setup, 15);
    const double first = setup.evaluate();
    const Doubles nll = all_nll(setup, 15);
    CHECK(setup.evaluate() == first);
    const double training = setup.forward_backward();
    // The two passes of the head may sum in vectors of another width.
    CHECK(training == Approx(first).epsilon(likely_rounding<S>(vocabulary, 1)));
    CHECK(relative_error(all_nll(setup, 15), nll) < likely_rounding<S>(vocabulary, 1));
    const auto gradients = to_host(setup.model.parameters().gradients());
    CHECK(setup.evaluate() == first);
    CHECK(all_nll(setup, 15) == nll);
    CHECK(to_host(setup.model.parameters().gradients()) == gradients);  // not touched
    CHECK(setup.forward_backward() == training);
    CHECK(to_host(setup.model.parameters().gradients()) == gradients);  // the same bits
  }
}

TEST_CASE("an evaluation's sum does not depend on the sequences of a step", "[model]") {
  const std::vector<TokenId> ids = some_tokens(7 * 5 + 1, 8);
  double first = 0;
  for (const Index sequences : {7, 3, 2, 1}) {
    CAPTURE(sequences);
    Setup<double> setup(deck_text("lev", backbone(1, 8, 2, 5, "swiglu"), small_lev), vocabulary,
                        ids, sequences, 2);
    randomise(setup, 16);
    double sum = 0;
    for (Index step = 0; step * sequences < 7; ++step) {
      setup.load(step);
      sum += setup.evaluate() * static_cast<double>(setup.batch().targets_global);
    }
    if (sequences == 7) first = sum;
    CHECK(sum == Approx(first).epsilon(of_losses));
  }
}

TEST_CASE("single precision follows double precision", "[model]") {
  // A value passes about 16 sums of at most 37 terms in each block and 8 outside it, and values are
  // of order 1.
  const double tolerance = (16 * 2 + 8) * likely_rounding<float>(37, 1);
  double worst_loss = 0, worst_nll = 0, worst_gradient = 0;
  for (const Interface& interface : interfaces) {
    for (const char* const mlp : {"swiglu", "gelu"}) {
      CAPTURE(interface.name, mlp);
      const std::string text =
          deck_text(interface.name, backbone(2, 32, 4, 9, mlp), interface.lines);
      const std::vector<TokenId> ids = some_tokens(46, 9);
      Setup<double> exact(text, vocabulary, ids, 5, 2);
      Setup<float> single(text, vocabulary, ids, 5, 2);
      randomise(exact, 17);
      randomise(single, 17);
      const double loss = exact.forward_backward(), found = single.forward_backward();
      CHECK(found == Approx(loss).epsilon(tolerance));
      worst_loss = std::max(worst_loss, std::abs(found / loss - 1));
      worst_nll = std::max(worst_nll, relative_error(all_nll(single, 45), all_nll(exact, 45)));
      for (const std::string& name : exact.names()) {
        CAPTURE(name);
        const double error = relative_error(single.gradient(name), exact.gradient(name));
        CHECK(error < 4 * tolerance);  // forward's errors, and backward's own
        worst_gradient = std::max(worst_gradient, error);
      }
    }
  }
  INFO("largest relative errors: loss " << worst_loss << " nll " << worst_nll << " gradient "
                                        << worst_gradient);
  CHECK(worst_nll < tolerance);
}

TEST_CASE("a head of zeros predicts every token alike", "[model]") {
  for (const Interface& interface : interfaces) {
    Setup<double> setup(deck_text(interface.name, backbone(1, 8, 2, 5, "gelu"), interface.lines),
                        vocabulary, some_tokens(16, 3), 3, 2);
    setup.set_value("head.weight", Doubles(vocabulary * 8, 0.0));
    // The mean of 15 logarithms of sums of 29 ones.
    const double expected = std::log(double(vocabulary)), limit = rounding_of_sums<double>(15, 1);
    CHECK(setup.evaluate() == Approx(expected).epsilon(limit));
    CHECK(setup.forward_backward() == Approx(expected).epsilon(limit));
  }
}

TEST_CASE("a token changes no loss before it", "[model]") {
  const Index t = 9;
  const std::string text = backbone(2, 8, 2, t, "swiglu");
  for (const Interface& interface : interfaces) {
    CAPTURE(interface.name);
    const std::vector<TokenId> ids = some_tokens(2 * t + 1, 10);
    const Index changed = 4;  // of the first sequence
    std::vector<TokenId> others = ids;
    others[changed] = (ids[changed] + 1) % vocabulary;
    Setup<double> a(deck_text(interface.name, text, interface.lines), vocabulary, ids, 2, 2);
    Setup<double> b(deck_text(interface.name, text, interface.lines), vocabulary, others, 2, 2);
    randomise(a, 18);
    randomise(b, 18);
    a.evaluate();
    b.evaluate();
    const Doubles before = all_nll(a, 2 * t), after = all_nll(b, 2 * t);
    for (Index n = 0; n < 2 * t; ++n) {
      CAPTURE(n);
      // It is the target of the position before its own.
      const bool later = n >= changed - 1 && n < t;
      CHECK((before[n] != after[n]) == later);
    }
  }
}

TEST_CASE("materialised rows are the vectors that enter the transformer", "[model]") {
  for (const Interface& interface : interfaces) {
    CAPTURE(interface.name);
    const Index c = 8;
    Setup<double> setup(deck_text(interface.name, backbone(1, c, 2, 5, "swiglu"), interface.lines),
                        vocabulary, some_tokens(31, 3), 2, 2);
    randomise(setup, 19);
    REQUIRE(setup.model.shape().distinct_max < 13);  // rows come in several blocks
    const auto rows = [&](Index begin, Index count) {
      const Device<double> out(Doubles(count * c, not_a_number));
      setup.model.materialise(ExecSpace(), begin, out.view(count, c));
      Kokkos::fence();
      return out.values();
    };
    Doubles pieces;
    for (Index begin = 0; begin < vocabulary; begin += 13) {
      const Doubles piece = rows(begin, std::min<Index>(13, vocabulary - begin));
      pieces.insert(pieces.end(), piece.begin(), piece.end());
    }
    for (Index token = 0; token < vocabulary; ++token) {
      const Doubles one = rows(token, 1);
      CHECK(std::equal(one.begin(), one.end(), pieces.begin() + token * c));
    }
    if (std::string(interface.name) == "tied") CHECK(pieces == setup.value("head.weight"));
    if (std::string(interface.name) == "untied") {
      // An untied model with these rows as its table has the same loss.
      CHECK(pieces == setup.value("embedding.untied.table"));
    } else {
      Setup<double> table(deck_text("untied", backbone(1, c, 2, 5, "swiglu")), vocabulary,
                          some_tokens(31, 3), 2, 2);
      for (const std::string& name : table.names()) {
        if (name != "embedding.untied.table") table.set_value(name, setup.value(name));
      }
      table.set_value("embedding.untied.table", pieces);
      CHECK(table.evaluate() == Approx(setup.evaluate()).epsilon(of_losses));
    }
  }
}

TEST_CASE("parameter counts of the published models", "[model]") {
  struct Published {
    const char* interface;
    Index vocabulary;
    const char* backbone;
    Index total;
  };
  const char* const a400 = "layers = 12\nwidth = 1024\nheads = 16\ncontext = 512\n";
  const char* const a1200 = "layers = 12\nwidth = 2048\nheads = 16\ncontext = 512\n";
  const char* const b1700 =
      "layers = 24\nwidth = 2048\nheads = 32\nmlp_width = 8192\ncontext = 8\n";
  const char* const b500 =
      "layers = 32\nwidth = 1024\nheads = 32\nmlp = \"gelu\"\ncontext = 1024\n";
  const Index norms400 = 25 * 1024, norms1200 = 25 * 2048;
  const Published all[] = {
      {"tied", 200019, a400, 12 * 16 * 1024 * 1024 + 200019 * 1024 + norms400},
      {"untied", 200019, a400, 12 * 16 * 1024 * 1024 + 2 * 200019 * 1024 + norms400},
      {"lev", 200019, a400, 12 * 16 * 1024 * 1024 + 200019 * 1024 + norms400 + 1728640},
      {"tied", 200019, a1200, 12 * 16 * 2048 * 2048 + 200019 * 2048 + norms1200},
      {"lev", 200019, a1200, 12 * 16 * 2048 * 2048 + 200019 * 2048 + norms1200 + 2252928},
      {"binary_code", 49152, b1700, 1711376384},
      {"untied", 49152, b1700, 1711376384 + 100663296},
  };
  const auto count = [](const char* interface, Index v, const char* text) {
    const Deck deck = Deck::from_string(deck_text(interface, text), "test.toml");
    const Model<float> model(ModelSettings::read(deck), {v, 1, 1});  // needs no memory yet
    return model.parameters().count();
  };
  for (const Published& p : all) {
    CAPTURE(p.interface, p.vocabulary, p.backbone);
    CHECK(count(p.interface, p.vocabulary, p.backbone) == p.total);
  }
  // Paper A's millions leave the norms' gains out (406.17 with them); paper B's count has them.
  CHECK(double(all[0].total - norms400) == Approx(406.1e6).epsilon(0).margin(0.05e6));
  CHECK(double(all[1].total - norms400) == Approx(611.0e6).epsilon(0).margin(0.05e6));
  CHECK(double(all[3].total - norms1200) == Approx(1214.9e6).epsilon(0).margin(0.05e6));
  CHECK(count("untied", 65536, b500) - count("binary_code", 65536, b500) == 67108864);
  CHECK(count("tied", 200019, "layers = 12\nwidth = 640\nheads = 10\n") ==
        12 * 16 * 640 * 640 + 200019 * 640 + 25 * 640);
}

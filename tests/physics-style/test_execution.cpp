// How a transformer is computed must not change what it computes: recomputation to the last bit,
// bf16 by rounding.
#include "harness/catch.hpp"
#include "harness/model_fixture.hpp"
#include "utils/error.hpp"

using namespace lexikos;
using namespace lexikos::test;

namespace {

constexpr Index vocabulary = 61, context = 40, sequences = 3;
constexpr const char* normed_windows = "qk_norm = true\nwindow = 9\nwindow_pattern = [0, 1]\n";

std::string deck(const std::string& recompute, const std::string& compute,
                 const char* mlp = "swiglu", Index layers = 3, const char* options = "") {
  return "[model]\nrecompute = \"" + recompute + "\"\n[run]\ncompute = \"" + compute +
         "\"\n[head]\nchunk = 50\n[embedding]\ninterface = \"tied\"\n[transformer]\nlayers = " +
         std::to_string(layers) + "\nwidth = 48\nheads = 4\nkv_heads = 2\nmlp = \"" + mlp +
         "\"\nmlp_width = 80\ncontext = " + std::to_string(context) + "\n" + options;
}

template <class S>
Setup<S> setup(const std::string& text, Index micro = sequences) {
  Random random(21);
  return Setup<S>(text, vocabulary, random.tokens(sequences * context + 1, vocabulary), sequences,
                  micro);
}

struct Found {
  double loss, evaluated;
  Doubles gradient;
  Index bytes;
};

template <class S>
Found found(Setup<S>& s) {
  Found f;
  f.loss = s.forward_backward();
  f.gradient = doubles(to_host(
      View1<S>(s.model.parameters().gradients().data(), s.model.parameters().gradients().size())));
  f.evaluated = s.evaluate();
  f.bytes = s.model.memory().bytes();
  return f;
}

double cosine(const Doubles& a, const Doubles& b) { return dot(a, b) / (norm(a) * norm(b)); }

}  // namespace

TEST_CASE("recomputation changes no bit and needs less memory", "[recompute]") {
  for (const char* compute : {"fp32", "bf16"}) {
    for (const auto& [mlp, options] :
         {std::pair("swiglu", ""), std::pair("gelu", ""), std::pair("swiglu", normed_windows)}) {
      for (const Index micro : {sequences, Index{2}}) {
        CAPTURE(compute, mlp, options, micro);
        auto none = setup<float>(deck("none", compute, mlp, 3, options), micro);
        const Found kept = found(none);
        Index before = kept.bytes;
        for (const char* recompute : {"mlp", "block"}) {
          CAPTURE(recompute);
          auto again = setup<float>(deck(recompute, compute, mlp, 3, options), micro);
          const Found f = found(again);
          CHECK(f.loss == kept.loss);
          CHECK(f.evaluated == kept.evaluated);
          CHECK(absolute_error(f.gradient, kept.gradient) == 0);
          CHECK(f.bytes < before);
          before = f.bytes;
        }
      }
    }
  }
}

TEST_CASE("recomputation of fp64 models", "[recompute]") {
  auto none = setup<double>(deck("none", "fp32")), block = setup<double>(deck("block", "fp32"));
  const Found a = found(none), b = found(block);
  CHECK(a.loss == b.loss);
  CHECK(absolute_error(a.gradient, b.gradient) == 0);
}

TEST_CASE("a model in bf16 is the fp32 model, rounded", "[bf16]") {
  auto wide = setup<float>(deck("none", "fp32")), narrow = setup<float>(deck("none", "bf16"));
  // Of order 1, so that logits depend on every product.
  randomise(wide, 5);
  randomise(narrow, 5);
  const Found a = found(wide), b = found(narrow);
  // A block passes its input through seven products of numbers rounded by 2^-8 at most; with
  // independent roundings (a third of the bound each, as of a uniform distribution) three blocks
  // come to about 3 sqrt(7) 2^-8 / 2 = 1.5 % of the logits' size.
  CHECK(b.loss != a.loss);  // it was rounded at all
  CHECK(std::abs(b.loss - a.loss) < 0.015 * a.loss);
  CHECK(b.loss == b.evaluated);
  CHECK(cosine(a.gradient, b.gradient) > 0.999);
  CHECK(std::abs(norm(b.gradient) / norm(a.gradient) - 1) < 0.03);
}

TEST_CASE("bf16 reads the parameters as they are, not as they were", "[bf16]") {
  auto s = setup<float>(deck("none", "bf16"));
  const double before = s.forward_backward();
  for (const std::string& name : {std::string("head.weight"), std::string("transformer.1.up")}) {
    CAPTURE(name);
    Doubles values = s.value(name);
    for (double& value : values) value *= -4;
    s.set_value(name, values);
    const double moved = s.evaluate();
    CHECK(moved != before);
    CHECK(s.forward_backward() == moved);
  }
}

TEST_CASE("bf16 goes only with fp32 models", "[bf16]") {
  CHECK_THROWS_WITH(setup<double>(deck("none", "bf16")), ContainsSubstring("fp32 models"));
}

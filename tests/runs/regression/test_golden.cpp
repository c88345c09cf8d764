// Ten training steps against PyTorch in fp64 (make_golden_torch.py): every interface, both hidden
// layers, heads that share keys and values, clipping, AdamW with its decay rules, warm-up and
// cosine.
//
// The two programs add in different orders; after ten steps such differences of 1e-16 have grown to
// some 1e-14. A wrong convention anywhere shows in the fifth digit or before.
#include "runs/regression/golden_torch.hpp"

#include "harness/catch.hpp"
#include "harness/model_fixture.hpp"
#include "optim/adamw.hpp"
#include "optim/schedule.hpp"

using namespace lexikos;
using namespace lexikos::test;

namespace {

// The numbers at the top of make_golden_torch.py.
constexpr Index vocabulary = 29, context = 8, sequences = 6, steps = 10;

const char* const optimizer =
    "[optimizer]\nlearning_rate = 2e-2\nschedule = \"cosine\"\nwarmup_steps = 3\n"
    "final_fraction = 0.1\nbeta1 = 0.9\nbeta2 = 0.95\nepsilon = 1e-8\nweight_decay = 0.1\n"
    "clip_norm = 0.8\n";

std::vector<TokenId> tokens() {
  std::uint64_t x = 12345;
  std::vector<TokenId> ids;
  for (Index i = 0; i < steps * sequences * context + 1; ++i) {
    x = (1103515245 * x + 12345) % (std::uint64_t{1} << 31);
    ids.push_back(static_cast<TokenId>((x >> 16) % vocabulary * ((x >> 8) % 7) / 6));
  }
  return ids;
}

std::string deck_of(const golden::Run& run) {
  std::string interface = run.interface, lines;
  if (interface == "lev") lines = small_lev;
  if (interface == "binary_code_affine") {
    interface = "binary_code";
    lines = "recoding = \"affine\"\nseed = 5\n";
  }
  return deck_text(interface,
                   "layers = 2\nwidth = 16\nheads = " + std::to_string(run.heads) +
                       "\nkv_heads = " + std::to_string(run.kv_heads) +
                       "\ncontext = 8\nmlp_width = 24\nmlp = \"" + run.mlp + "\"\n",
                   lines, 20);
}

struct History {
  Doubles losses, norms;
};

template <class S>
History train(Setup<S>& setup) {
  const Deck deck = Deck::from_string(optimizer, "optimizer.toml");
  const AdamWSettings adamw = AdamWSettings::read(deck);
  const Schedule schedule = Schedule::read(deck, steps);
  const SumOnDevice sum;
  const ExecSpace space;
  History history;
  for (Index step = 1; step <= steps; ++step) {
    setup.load(step - 1);
    history.losses.push_back(setup.forward_backward());
    squared_norm<S>(space, setup.model.parameters().gradients(), sum.sum());
    space.fence();
    const double norm = std::sqrt(sum.value());
    history.norms.push_back(norm);
    adamw_update<S>(space, adamw, schedule.at(step), step, clip_scale(adamw, norm),
                    setup.model.parameters());
    space.fence();
  }
  return history;
}

/// Largest |a / b - 1|.
double largest_ratio(const Doubles& a, const Doubles& b) {
  Doubles size = b;
  for (double& value : size) value = std::abs(value);
  return error_over_bound(a, b, size);
}

}  // namespace

TEST_CASE("ten steps agree with PyTorch", "[golden]") {
  for (const golden::Run& run : golden::runs) {
    CAPTURE(run.interface, run.mlp, run.heads, run.kv_heads);
    // Sequences in two micro-batches of 4 and 2.
    Setup<double> setup(deck_of(run), vocabulary, tokens(), sequences, 4, 1234);
    const History found = train(setup);
    REQUIRE(run.losses.size() == std::size_t(steps));
    CHECK(largest_ratio(found.losses, run.losses) < 1e-9);
    CHECK(largest_ratio(found.norms, run.gradient_norms) < 1e-9);
    // Some steps are clipped and some are not, else half of it would go untested.
    CHECK(largest(run.gradient_norms) > 0.8);
    CHECK(*std::min_element(run.gradient_norms.begin(), run.gradient_norms.end()) < 0.8);

    REQUIRE(run.final_norms.size() == setup.names().size());
    Doubles norms, expected;
    for (const golden::Norm& parameter : run.final_norms) {
      norms.push_back(norm(setup.value(parameter.name)));
      expected.push_back(parameter.value);
    }
    CHECK(largest_ratio(norms, expected) < 1e-9);
  }
}

TEST_CASE("single precision stays near", "[golden]") {
  // An update is a ratio of moments and so has the gradient's relative error, some 1e-6, times the
  // rate; over ten steps the losses move by about the same relative amount. Observed: 3e-8.
  for (const golden::Run& run : golden::runs) {
    CAPTURE(run.interface, run.mlp, run.heads, run.kv_heads);
    Setup<float> setup(deck_of(run), vocabulary, tokens(), sequences, 4, 1234);
    const History found = train(setup);
    CHECK(largest_ratio(found.losses, run.losses) < 1e-5);
  }
}

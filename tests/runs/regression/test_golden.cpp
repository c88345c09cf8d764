// Ten training steps against PyTorch in fp64 (make_golden_torch.py): every interface, both hidden
// layers, heads that share keys and values, a window with QK-norm, clipping, AdamW with its decay
// rules, warm-up and cosine. The two programs add in different orders; limits are what that comes
// to.
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
constexpr Index layers = 2, width = 16, mlp_width = 24;
constexpr double peak_rate = 2e-2;

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
  std::string more;
  if (run.window > 0) {
    more = "window = " + std::to_string(run.window) + "\nwindow_pattern = [1, 0]\n";
  }
  if (run.qk_norm) more += "qk_norm = true\n";
  return deck_text(interface,
                   "layers = 2\nwidth = 16\nheads = " + std::to_string(run.heads) +
                       "\nkv_heads = " + std::to_string(run.kv_heads) +
                       "\ncontext = 8\nmlp_width = 24\nmlp = \"" + run.mlp + "\"\n" + more,
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

/// Terms of a gradient's longest sum: to the logits, back from them, and over the positions.
Index terms_of(const golden::Run& run) {
  return 2 * terms_to_logits(layers, width, width / run.heads, context, mlp_width) +
         sequences * context;
}

Index elements_of(const std::vector<ParameterInfo>& infos) {
  Index count = 0;
  for (const ParameterInfo& info : infos) count += info.size;
  return count;
}

/// Relative: of norms of parameters and of gradients, after steps that differ by rounding.
template <class S>
double norm_limit(const golden::Run& run, Index elements) {
  return likely_rounding<S>(terms_of(run), 1) +
         rounding_of_updates<S>(steps, peak_rate, elements, terms_of(run));
}

/// Relative, of losses over 2: their own rounding; and a step moves each element's part g of the
/// loss by g times rate error / g, so all N by the rate times errors, sqrt(N) of their norm at
/// worst.
template <class S>
double loss_limit(const golden::Run& run, Index elements) {
  const double moved = double(steps) * peak_rate * std::sqrt(double(elements));
  return likely_rounding<S>(terms_of(run), 1 + moved * largest(run.gradient_norms) / 2);
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
    CAPTURE(run.interface, run.mlp, run.heads, run.kv_heads, run.window, run.qk_norm);
    // Sequences in two micro-batches of 4 and 2.
    Setup<double> setup(deck_of(run), vocabulary, tokens(), sequences, 4, 1234);
    const History found = train(setup);
    REQUIRE(run.losses.size() == std::size_t(steps));
    const Index elements = elements_of(setup.model.parameters().infos());
    CHECK(largest_ratio(found.losses, run.losses) < loss_limit<double>(run, elements));
    CHECK(largest_ratio(found.norms, run.gradient_norms) < norm_limit<double>(run, elements));
    // Some steps are clipped and some are not, else half of it would go untested.
    CHECK(largest(run.gradient_norms) > 0.8);
    CHECK(*std::min_element(run.gradient_norms.begin(), run.gradient_norms.end()) < 0.8);

    REQUIRE(run.final_norms.size() == setup.names().size());
    Doubles norms, expected;
    for (const golden::Norm& parameter : run.final_norms) {
      norms.push_back(norm(setup.value(parameter.name)));
      expected.push_back(parameter.value);
    }
    CHECK(largest_ratio(norms, expected) < norm_limit<double>(run, elements));
  }
}

TEST_CASE("single precision stays near", "[golden]") {
  for (const golden::Run& run : golden::runs) {
    CAPTURE(run.interface, run.mlp, run.heads, run.kv_heads, run.window, run.qk_norm);
    Setup<float> setup(deck_of(run), vocabulary, tokens(), sequences, 4, 1234);
    const History found = train(setup);
    const Index elements = elements_of(setup.model.parameters().infos());
    CHECK(largest_ratio(found.losses, run.losses) < loss_limit<float>(run, elements));
  }
}

// AdamW, the gradient's norm, the schedule, and initial values.
#include <map>

#include "harness/catch.hpp"
#include "harness/model_fixture.hpp"
#include "kernels/philox.hpp"
#include "optim/adamw.hpp"
#include "optim/schedule.hpp"
#include "utils/error.hpp"

using namespace lexikos;
using namespace lexikos::test;

namespace {

/// Three decay rules, gaps after some, two neighbours that merge and two that must not.
template <class S>
void add_examples(Parameters<S>& parameters) {
  parameters.add("a.none", {3, 5}, {.mean = 0.5}, Decay::none);
  parameters.add("b.zero", {7}, {.deviation = 2.0}, Decay::to_zero);
  parameters.add("c.one", {2, 2, 4}, {.mean = 1.0, .deviation = 0.1}, Decay::to_one);
  parameters.add("d.zero", {4, 8}, {.deviation = 1.0}, Decay::to_zero);
  parameters.add("d.zero2", {5}, {.deviation = 1.0}, Decay::to_zero);
  parameters.add("e.long", {5000}, {.deviation = 1.0}, Decay::none);  // more than one loop tile
}

/// Loshchilov and Hutter (2019), algorithm 2, with the decay's target as a variable.
struct Reference {
  Doubles w, m, v;

  void step(const AdamWSettings& s, const ParameterInfos& infos, const Doubles& gradient,
            double rate, int t, double scale) {
    for (const ParameterInfo& info : infos) {
      for (Index i = info.offset; i < info.offset + info.size; ++i) {
        const double g = scale * gradient[i];
        m[i] = s.beta1 * m[i] + (1 - s.beta1) * g;
        v[i] = s.beta2 * v[i] + (1 - s.beta2) * g * g;
        const double m_hat = m[i] / (1 - std::pow(s.beta1, t));
        const double v_hat = v[i] / (1 - std::pow(s.beta2, t));
        double decay = 0;
        if (info.decay == Decay::to_zero) decay = s.weight_decay * w[i];
        if (info.decay == Decay::to_one) decay = s.weight_decay * (w[i] - 1);
        w[i] = w[i] - rate * (m_hat / (std::sqrt(v_hat) + s.epsilon) + decay);
      }
    }
  }
};

const AdamWSettings settings = {0.9, 0.95, 1e-8, 0.1, 1.0};

/// `value` as a formula of at most a dozen operations rounds it.
Approx rounded_formula(double value) { return Approx(value).epsilon(12 * roundoff<double>); }

/// Random gradients with the gaps left zero, as backward passes leave them.
template <class S>
Doubles gradients(const Parameters<S>& parameters, std::uint64_t seed) {
  Random random(seed);
  Doubles g(parameters.arena_size(), 0.0);
  for (const ParameterInfo& info : parameters.infos()) {
    for (Index i = 0; i < info.size; ++i) g[info.offset + i] = random.normal();
  }
  return g;
}

std::vector<double> rates(const Schedule& s) {
  std::vector<double> all;
  for (std::int64_t step = 1; step <= s.steps; ++step) all.push_back(s.at(step));
  return all;
}

double largest_jump(const std::vector<double>& rate) {
  double jump = 0;
  for (std::size_t i = 1; i < rate.size(); ++i)
    jump = std::max(jump, std::abs(rate[i] - rate[i - 1]));
  return jump;
}

}  // namespace

TEMPLATE_TEST_CASE("adamw agrees with its algorithm", "[adamw]", float, double) {
  using S = TestType;
  Parameters<S> parameters;
  add_examples(parameters);
  parameters.allocate();
  parameters.initialise(3);
  Reference reference{doubles(to_host(parameters.values())), Doubles(parameters.arena_size(), 0.0),
                      Doubles(parameters.arena_size(), 0.0)};
  const double rate = 0.02;
  for (int t = 1; t <= 6; ++t) {
    const Doubles g = rounded<S>(gradients(parameters, t));
    set(View1<S>(parameters.gradients()), g);
    const double scale = t % 2 == 0 ? 0.125 : 1.0;
    const ExecSpace space;
    adamw_update<S>(space, settings, rate / t, t, scale, parameters);
    space.fence();
    reference.step(settings, parameters.infos(), g, rate / t, t, scale);
    CAPTURE(t);
    // A step moves a value by about its rate, through about ten roundings.
    const double tolerance = t * (2 * largest(reference.w) + 40 * rate) * roundoff<S>;
    CHECK(absolute_error(doubles(to_host(parameters.values())), reference.w) < tolerance);
    CHECK(relative_error(doubles(to_host(parameters.first_moments())), reference.m) <
          8 * roundoff<S>);
    CHECK(relative_error(doubles(to_host(parameters.second_moments())), reference.v) <
          8 * roundoff<S>);
    CHECK(absolute_error(doubles(to_host(parameters.gradients())), g) == 0);  // only read
  }
  // What lies between parameters stays zero.
  const Doubles w = doubles(to_host(parameters.values()));
  std::vector<bool> owned(w.size(), false);
  for (const ParameterInfo& info : parameters.infos()) {
    std::fill_n(owned.begin() + info.offset, info.size, true);
  }
  for (std::size_t i = 0; i < w.size(); ++i) {
    if (!owned[i]) CHECK(w[i] == 0);
  }
}

TEST_CASE("slices cover the arena once, in cache lines", "[adamw]") {
  for (const Index size : {Index{0}, Index{16}, Index{1040}, Index{3} << 32}) {
    for (const int ranks : {1, 2, 3, 7}) {
      CAPTURE(size, ranks);
      Index end = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const ArenaRange slice = slice_of(size, rank, ranks);
        CHECK(slice.begin == end);
        CHECK(slice.size() <= slice_of(size, 0, ranks).size());
        CHECK(slice.begin % 16 == 0);
        end = slice.end;
      }
      CHECK(end == size);
    }
  }
}

TEMPLATE_TEST_CASE("slices updated apart make the whole update, bit for bit", "[adamw]", float,
                   double) {
  using S = TestType;
  Parameters<S> whole;
  add_examples(whole);
  whole.allocate();
  whole.initialise(3);
  const Doubles before = doubles(to_host(whole.values()));
  const Doubles g = rounded<S>(gradients(whole, 1));
  set(View1<S>(whole.gradients()), g);
  adamw_update<S>(ExecSpace(), settings, 0.02, 1, 0.5, whole);
  Kokkos::fence();
  const Doubles after = doubles(to_host(whole.values()));
  CHECK(absolute_error(before, after) > 0.01);
  for (int rank = 0; rank < 3; ++rank) {
    const ArenaRange slice = slice_of(whole.arena_size(), rank, 3);
    Parameters<S> part;
    add_examples(part);
    part.allocate(slice);
    part.initialise(3);
    set(View1<S>(part.gradients()), g);
    adamw_update<S>(ExecSpace(), settings, 0.02, 1, 0.5, part);
    Kokkos::fence();
    CHECK(Index(part.first_moments().size()) == slice.size());
    const Doubles w = doubles(to_host(part.values()));
    for (Index i = 0; i < whole.arena_size(); ++i) {
      const bool mine = i >= slice.begin && i < slice.end;
      if (w[i] != (mine ? after[i] : before[i])) FAIL("element " << i << " of rank " << rank);
    }
  }
}

TEST_CASE("adamw's first step has the size of the rate, whatever the gradient's", "[adamw]") {
  Parameters<double> parameters;
  parameters.add("w", {3}, {}, Decay::none);
  parameters.allocate();
  Doubles g(parameters.arena_size(), 0.0);
  g[0] = 1e-3, g[1] = -40, g[2] = 0;
  set(View1<double>(parameters.gradients()), g);
  adamw_update<double>(ExecSpace(), settings, 0.01, 1, 1.0, parameters);
  Kokkos::fence();
  const auto w = to_host(parameters.values());
  CHECK(w[0] == rounded_formula(-0.01 * 1e-3 / (1e-3 + 1e-8)));
  CHECK(w[1] == rounded_formula(0.01 * 40 / (40 + 1e-8)));
  CHECK(w[2] == 0);
}

TEST_CASE("adamw decays to the target of each rule, apart from the gradient", "[adamw]") {
  Parameters<double> parameters;
  parameters.add("none", {1}, {.mean = 3.0}, Decay::none);
  parameters.add("zero", {1}, {.mean = 3.0}, Decay::to_zero);
  parameters.add("one", {1}, {.mean = 3.0}, Decay::to_one);
  parameters.allocate();
  parameters.initialise(1);
  const AdamWSettings strong = {0.9, 0.95, 1e-8, 0.5, 0.0};
  for (int t = 1; t <= 2000; ++t) {
    adamw_update<double>(ExecSpace(), strong, 0.1, t, 1.0, parameters);
    Kokkos::fence();
    if (t > 1) continue;
    const auto w = to_host(parameters.values());
    CHECK(w[0] == 3.0);
    CHECK(w[16] == rounded_formula(3 - 0.1 * 0.5 * 3));
    CHECK(w[32] == rounded_formula(3 - 0.1 * 0.5 * 2));
  }
  const auto w = to_host(parameters.values());
  CHECK(w[0] == 3.0);
  CHECK(w[16] == Approx(3 * std::pow(0.95, 2000)).epsilon(3 * 2000 * roundoff<double>));
  // It stops where a twentieth of what is left rounds away.
  CHECK(std::abs(w[32] - 1) <= 20 * roundoff<double>);
}

TEST_CASE("clipping brings a large gradient to the norm and leaves a small one", "[adamw]") {
  const AdamWSettings clipped = {0.9, 0.95, 1e-8, 0.1, 2.0}, free = {0.9, 0.95, 1e-8, 0.1, 0.0};
  CHECK(clip_scale(clipped, 8.0) == 0.25);
  CHECK(clip_scale(clipped, 2.0) == 1.0);
  CHECK(clip_scale(clipped, 1e-30) == 1.0);
  CHECK(clip_scale(clipped, 0.0) == 1.0);
  CHECK(clip_scale(free, 1e30) == 1.0);
}

TEMPLATE_TEST_CASE("the gradient's norm", "[adamw]", float, double) {
  using S = TestType;
  for (const Index n : {1, 15, 2047, 2048, 2049, 100003}) {
    CAPTURE(n);
    Random random(n);
    const Doubles g = rounded<S>(random.normals(n));
    const Device<S> g_d(g);
    const SumOnDevice sum;
    const ExecSpace space;
    squared_norm<S>(space, g_d.view(), sum.sum());
    space.fence();
    // Tiles of 2048 in S, and their sum and the reference in double.
    const double first = sum.value();
    const double limit = likely_rounding<S>(2048, 1) + likely_rounding<double>(n, 1);
    CHECK(first == Approx(dot(g, g)).epsilon(limit));
    squared_norm<S>(space, g_d.view(), sum.sum());
    space.fence();
    CHECK(sum.value() == first);
  }
  Doubles bad(5000, 1.0);
  bad[4321] = not_a_number;
  const Device<S> bad_d(bad);
  const SumOnDevice sum;
  squared_norm<S>(ExecSpace(), bad_d.view(), sum.sum());
  Kokkos::fence();
  CHECK(std::isnan(sum.value()));
}

TEST_CASE("schedules begin, pass their corners and end where they say", "[schedule]") {
  using Kind = Schedule::Kind;
  const Schedule constant{Kind::constant, 0.5, 10, 0.1, 0.2, 100};
  CHECK(constant.at(1) == rounded_formula(0.05));
  CHECK(constant.at(9) == rounded_formula(0.45));
  CHECK(constant.at(10) == 0.5);
  CHECK(constant.at(100) == 0.5);

  const Schedule cosine{Kind::cosine, 0.5, 10, 0.1, 0.2, 110};
  CHECK(cosine.at(5) == rounded_formula(0.25));
  CHECK(cosine.at(10) == 0.5);
  CHECK(cosine.at(60) == rounded_formula(0.5 * (0.5 + 0.05)));
  CHECK(cosine.at(35) == rounded_formula(0.05 + 0.45 * 0.5 * (1 + std::sqrt(0.5))));
  CHECK(cosine.at(110) == rounded_formula(0.05));
  CHECK(cosine.at(1000) == rounded_formula(0.05));

  const Schedule wsd{Kind::wsd, 0.5, 10, 0.1, 0.2, 200};
  CHECK(wsd.at(10) == 0.5);
  CHECK(wsd.at(160) == 0.5);
  CHECK(wsd.at(180) == rounded_formula(0.275));
  CHECK(wsd.at(200) == rounded_formula(0.05));
}

TEST_CASE("schedules have no jump", "[schedule]") {
  using Kind = Schedule::Kind;
  for (const Kind kind : {Kind::constant, Kind::cosine, Kind::wsd}) {
    for (const std::int64_t warmup : {1, 7, 50}) {
      for (const double fraction : {0.05, 0.2, 1.0}) {
        const Schedule s{kind, 1.0, warmup, 0.1, fraction, 400};
        const std::vector<double> rate = rates(s);
        CAPTURE(int(kind), warmup, fraction);
        // Steepest: the warm-up, the cosine's middle, or the linear decay.
        const double decay = kind == Kind::wsd
                                 ? 0.9 / (fraction * 400 - double(warmup) * (fraction == 1))
                                 : 0.9 * std::acos(-1.0) / 2 / double(400 - warmup);
        CHECK(largest_jump(rate) < 1.001 * std::max(1.0 / double(warmup) * (warmup > 1), decay));
        CHECK(*std::max_element(rate.begin(), rate.end()) == 1.0);
        CHECK(*std::min_element(rate.begin(), rate.end()) > 0);
      }
    }
  }
}

TEST_CASE("schedules at their limits", "[schedule]") {
  using Kind = Schedule::Kind;
  for (const Kind kind : {Kind::constant, Kind::cosine, Kind::wsd}) {
    CAPTURE(int(kind));
    const Schedule none{kind, 1.0, 0, 0.1, 0.2, 20};
    CHECK(none.at(1) > 0.9);  // no warm-up
    CHECK(none.at(20) == rounded_formula(kind == Kind::constant ? 1.0 : 0.1));
    const Schedule longer{kind, 1.0, 50, 0.1, 0.2, 20};  // warm-up longer than the run
    CHECK(longer.at(20) == rounded_formula(0.4));
    const Schedule one{kind, 1.0, 0, 0.1, 0.2, 1};
    CHECK(std::isfinite(one.at(1)));
    CHECK(one.at(1) >= 0.1 * (1 - 12 * roundoff<double>));
    const Schedule same{kind, 1.0, 5, 1.0, 0.5, 20};
    CHECK(same.at(20) == rounded_formula(1.0));
  }
  CHECK(Schedule{Kind::wsd, 1.0, 0, 0.1, 0.0, 20}.at(20) == 1.0);  // nothing decays
}

TEST_CASE("schedule and adamw read their deck table", "[schedule]") {
  const Deck deck = Deck::from_string(
      "[optimizer]\nlearning_rate = 0.25\nschedule = \"wsd\"\nwarmup_steps = 3\n"
      "final_fraction = 0.5\ndecay_fraction = 0.125\nbeta1 = 0.8\nbeta2 = 0.7\nepsilon = 1e-6\n"
      "weight_decay = 0.3\nclip_norm = 4\n",
      "test.toml");
  const Schedule s = Schedule::read(deck, 80);
  const AdamWSettings a = AdamWSettings::read(deck);
  deck.check_all_read();
  CHECK(s.kind == Schedule::Kind::wsd);
  CHECK(s.steps == 80);
  CHECK(s.at(3) == 0.25);
  CHECK(s.at(70) == 0.25);
  CHECK(s.at(80) == rounded_formula(0.125));
  CHECK(a.beta1 == 0.8);
  CHECK(a.beta2 == 0.7);
  CHECK(a.epsilon == 1e-6);
  CHECK(a.weight_decay == 0.3);
  CHECK(a.clip_norm == 4);
  CHECK_THROWS_AS(AdamWSettings::read(Deck::from_string("[optimizer]\nbeta1 = 1\n", "t")), Error);
}

TEST_CASE("parameters lay their windows out and refuse doubles", "[parameters]") {
  Parameters<double> parameters;
  add_examples(parameters);
  REQUIRE(parameters.infos().size() == 6);
  Index end = 0;
  for (const ParameterInfo& info : parameters.infos()) {
    CHECK(info.offset >= end);
    CHECK(info.offset % 16 == 0);
    end = info.offset + info.size;
  }
  CHECK(parameters.arena_size() >= end);
  CHECK(parameters.count() == 15 + 7 + 16 + 32 + 5 + 5000);
  CHECK(parameters.count("d.") == 37);
  CHECK(parameters.count("nothing") == 0);
  CHECK(parameters.find("c.one").info().size == 16);

  const auto status = [](auto call) {
    try {
      call();
    } catch (const Error& error) {
      return error.status();
    }
    return Status::ok;
  };
  CHECK(status([&] { parameters.add("b.zero", {1}, {}, Decay::none); }) == Status::deck);
  CHECK(status([&] { parameters.find("b"); }) == Status::deck);
  CHECK(parameters.infos().size() == 6);

  const Weight<double> cube = parameters.find("c.one"), d = parameters.find("d.zero");
  CHECK(d.value1().extent(0) == 0);  // nothing is allocated yet
  parameters.allocate();
  CHECK(cube.value2().extent(0) == 2);
  CHECK(cube.value2().extent(1) == 8);
  CHECK(d.gradient1().data() == parameters.gradients().data() + d.range().begin);
  CHECK(d.gradient1().extent(0) == std::size_t(d.range().size()));
  for (const auto& arena : {parameters.values(), parameters.gradients(), parameters.first_moments(),
                            parameters.second_moments()}) {
    CHECK(largest(to_host(arena)) == 0);
  }

  // Segments: every element once, none twice; neighbours without a gap and of one rule merged.
  const std::vector<Segment> segments = parameters.segments();
  CHECK(segments.size() == 5);
  std::vector<int> covered(parameters.arena_size(), 0);
  for (const Segment& s : segments) {
    for (Index i = s.begin; i < s.end; ++i) ++covered[i];
  }
  for (const ParameterInfo& info : parameters.infos()) {
    for (Index i = 0; i < info.size; ++i) CHECK(covered[info.offset + i] == 1);
    for (const Segment& s : segments) {
      if (s.begin <= info.offset && info.offset < s.end) CHECK(s.decay == info.decay);
    }
  }
}

TEST_CASE("initial values are a function of seed, name and element", "[parameters]") {
  Parameters<double> a;
  Parameters<float> single;
  add_examples(a);
  add_examples(single);
  a.allocate();
  single.allocate();
  a.initialise(17);
  single.initialise(17);
  for (const ParameterInfo& info : a.infos()) {
    const Doubles value = to_host(a.find(info.name).value1());
    const auto value_single = to_host(single.find(info.name).value1());
    for (Index i = 0; i < std::min<Index>(info.size, 200); ++i) {
      const double drawn =
          info.init.mean + info.init.deviation * random_normal(17, stream_of(info.name), i);
      CHECK(value[i] == rounded_formula(drawn));
      CHECK(value_single[i] == static_cast<float>(value[i]));
    }
  }
  // Another order and other neighbours change nothing; another name or seed does.
  Parameters<double> b, c;
  for (Parameters<double>* const other : {&b, &c}) {
    other->add("d.zero2", {5}, {.deviation = 1.0}, Decay::to_zero);
    other->add("new", {5}, {.deviation = 1.0}, Decay::to_zero);
    other->allocate();
    other->initialise(other == &b ? 17 : 18);
  }
  const auto value = [](const Parameters<double>& parameters, const char* name) {
    return to_host(parameters.find(name).value1());
  };
  CHECK(value(b, "d.zero2") == value(a, "d.zero2"));
  CHECK(value(b, "new") != value(b, "d.zero2"));
  CHECK(value(c, "d.zero2") != value(b, "d.zero2"));
}

TEST_CASE("the backbone starts from the same values under every interface", "[parameters]") {
  const std::string backbone = "layers = 2\nwidth = 24\nheads = 2\ncontext = 6\nmlp_width = 40\n";
  Random random(1);
  const std::vector<TokenId> ids = random.tokens(13, 300);
  std::map<std::string, Doubles> first;
  const std::pair<const char*, std::string> interfaces[] = {
      {"tied", ""},
      {"untied", ""},
      {"lev", small_lev},
      {"binary_code", ""},
      {"albert", "rank = 3\n"},
      {"flat_mlp", "code_width = 3\nhidden = 7\n"},
      {"factored_mlp", "seed_width = 4\nhidden = 6\n"}};
  for (const auto& [interface, own] : interfaces) {
    CAPTURE(interface);
    Setup<double> setup(deck_text(interface, backbone, own), 300, ids, 2, 2, 5);
    Index common = 0;
    for (const std::string& name : setup.names()) {
      if (name.rfind("embedding.", 0) == 0) continue;
      ++common;
      const auto [place, added] = first.emplace(name, setup.value(name));
      CAPTURE(name);
      CHECK(place->second == setup.value(name));
    }
    CHECK(common == 14);
  }
  const auto deviation = [&](const std::string& name) {
    const Doubles& x = first.at(name);
    return std::sqrt(dot(x, x) / double(x.size()));
  };
  // Normal values of n elements: the deviation is known to 1 / sqrt(2 n), five of which are
  // allowed.
  CHECK(deviation("head.weight") == Approx(0.02).epsilon(5 / std::sqrt(2.0 * 7200)));
  CHECK(deviation("transformer.1.qkv") == Approx(0.02).epsilon(5 / std::sqrt(2.0 * 1728)));
  CHECK(deviation("transformer.0.out") == Approx(0.01).epsilon(5 / std::sqrt(2.0 * 576)));
  CHECK(deviation("transformer.0.down") == Approx(0.01).epsilon(5 / std::sqrt(2.0 * 960)));
  CHECK(absolute_error(first.at("transformer.0.mlp_norm"), Doubles(24, 1.0)) == 0);
  CHECK(absolute_error(first.at("transformer.norm"), Doubles(24, 1.0)) == 0);
  CHECK(first.at("transformer.0.qkv") != first.at("transformer.1.qkv"));
}

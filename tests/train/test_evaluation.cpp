// Held-out loss in all and by token frequency, and models whose interface was turned into a table.
#include "harness/catch.hpp"
#include "harness/model_fixture.hpp"
#include "kernels/binned_sum.hpp"
#include "train/evaluator.hpp"

using namespace lexikos;
using namespace lexikos::test;

namespace {

constexpr Index vocabulary = 29, context = 6;

const std::string backbone =
    "layers = 2\nwidth = 12\nheads = 2\ncontext = 6\nmlp = \"swiglu\"\nmlp_width = 17\n";

/// Counts such that the edges below leave ids in every bin but one.
std::vector<std::uint64_t> some_counts() {
  std::vector<std::uint64_t> counts(vocabulary);
  for (Index id = 0; id < vocabulary; ++id) counts[id] = id < 5 ? 0 : id * id;
  return counts;
}

RunData data_of(const std::vector<TokenId>& ids) {
  RunData data;
  data.validation = std::make_unique<ListedTokens>(vocabulary, ids);
  data.vocabulary = vocabulary;
  data.train_counts = some_counts();
  return data;
}

template <class S>
std::unique_ptr<Model<S>> model_of(const std::string& interface, const std::string& lines,
                                   const ModelSizes& sizes, std::uint64_t seed) {
  const Deck deck = Deck::from_string(deck_text(interface, backbone, lines), "test.toml");
  auto model = std::make_unique<Model<S>>(ModelSettings::read(deck), sizes);
  model->allocate(seed);
  return model;
}

}  // namespace

TEST_CASE("binned sums agree with a plain loop and add to what is there") {
  constexpr Index n = 5000, bins = 4;
  Random random(1);
  const Doubles values = random.normals(n);
  const std::vector<TokenId> ids = random.tokens(n, vocabulary);
  std::vector<std::uint8_t> bin_of(vocabulary);
  for (Index id = 0; id < vocabulary; ++id) bin_of[id] = static_cast<std::uint8_t>(id % 3);

  Doubles expected(2 * bins, 10.0), on_the_way;
  for (Index i = 0; i < n; ++i) {
    on_the_way.push_back(expected[bin_of[ids[i]]] += values[i]);
    expected[bins + bin_of[ids[i]]] += 1.0;
  }
  const Device<double> v(values), sums(Doubles(2 * bins, 10.0)), work(2 * bins);
  const Device<TokenId> i(ids);
  const Device<std::uint8_t> b(bin_of);
  const ExecSpace space;
  add_binned(space, v.view(), i.view(), b.view(), sums.view(), work.view());
  space.fence();
  const Doubles found = to_host(sums.view());
  // A sum's rounding is that of what it is on the way, at most once for each term; counts are
  // exact.
  const double limit = likely_rounding<double>(n, largest(on_the_way));
  for (Index k = 0; k < bins; ++k) {
    CHECK(std::abs(found[k] - expected[k]) < limit);
    CHECK(found[bins + k] == expected[bins + k]);
  }
  CHECK(found[bins - 1] == 10.0);  // no id is in the last bin
}

TEST_CASE("the bins of an evaluation are its targets, sorted by frequency") {
  Random random(2);
  const RunData data = data_of(random.tokens(60 * context + 3, vocabulary));
  const Communicator comm(MPI_COMM_WORLD);
  ValidationSettings settings;
  BatchSettings batch;
  batch.sequences = 7;  // the last batch is short
  settings.frequency_edges = {1e-9, 1e-2, 0.05, 0.2};
  const ModelSizes sizes{vocabulary, 3, 7};
  const auto model = model_of<double>("untied", "", sizes, 5);

  Evaluator<double> evaluator(settings, batch, {}, data, comm, *model);
  const Evaluation e = evaluator.run(ExecSpace());
  REQUIRE(e.targets == 60 * context);
  REQUIRE(e.bins.size() == 5);

  // The sums again, target by target.
  const FrequencyBins bins(settings.frequency_edges, data.train_counts, vocabulary);
  Doubles nll(5, 0.0), count(5, 0.0);
  BatchLoader loader(*data.validation, {.T = context, .sequences = 7, .micro_sequences = 3},
                     WindowSelection{60, 60});
  SumOnDevice sum;
  for (Index step = 0; step < loader.steps(); ++step) {
    const StepBatch& loaded = loader.load(step);
    model->evaluate(ExecSpace(), loaded, sum.sum());
    const Doubles each = to_host(model->nll(loaded.sequences * context));
    Index done = 0;
    for (const MicroBatch& micro : loaded.micro) {
      for (const TokenId id : to_host(micro.targets)) {
        nll[bins.bin_of()[id]] += each[done++];
        count[bins.bin_of()[id]] += 1.0;
      }
    }
  }
  double total = 0, targets = 0;
  const double limit = rounding_of_sums<double>(e.targets, 1);
  for (std::size_t b = 0; b < 5; ++b) {
    CHECK(e.bins[b].targets == static_cast<Index>(count[b]));
    CHECK(std::abs(e.bins[b].nll - nll[b]) <= limit * nll[b]);
    total += e.bins[b].nll;
    targets += static_cast<double>(e.bins[b].targets);
  }
  CHECK(std::abs(total - e.nll) <= limit * e.nll);
  CHECK(targets == static_cast<double>(e.targets));
  CHECK(e.bins[0].targets > 0);  // never seen in training
  CHECK(e.bins[4].targets == 0);
  CHECK(std::isnan(e.bins[4].loss()));

  SECTION("without training counts there are no bins") {
    RunData bare = data_of(random.tokens(60 * context + 3, vocabulary));
    bare.train_counts.clear();
    Evaluator<double> plain(settings, batch, {}, bare, comm, *model);
    CHECK(plain.run(ExecSpace()).bins.empty());
  }
}

TEMPLATE_TEST_CASE("a table in place of an interface gives the same logits", "", float, double) {
  using S = TestType;
  const std::pair<const char*, std::string> interfaces[] = {
      {"tied", ""},
      {"lev", small_lev},
      {"binary_code", "recoding = \"affine\"\n"},
      {"albert", "rank = 3\n"},
      {"flat_mlp", "code_width = 3\nhidden = 7\n"},
      {"factored_mlp", "seed_width = 4\nhidden = 6\n"}};
  const ModelSizes sizes{vocabulary, 4, 4};
  const Index positions = 4 * context;
  Random random(3);
  const ListedTokens tokens(vocabulary, random.tokens(positions + 1, vocabulary));
  BatchLoader loader(tokens, {.T = context, .sequences = 4, .micro_sequences = 4},
                     WindowSelection{4, 4});
  const StepBatch& batch = loader.load(0);
  const ExecSpace space;
  SumOnDevice sum;

  for (const auto& [interface, lines] : interfaces) {
    const auto from = model_of<S>(interface, lines, sizes, 7);
    const auto to = model_of<S>("untied", "", sizes, 8);
    // Values of order 1: at the start all logits are nearly the same.
    for (const ParameterInfo& info : from->parameters().infos()) {
      set(View1<S>(from->parameters().values().data() + info.offset, info.size),
          random.normals(info.size, 0.5, info.init.mean));
    }
    for (const ParameterInfo& target : to->parameters().infos()) {
      for (const ParameterInfo& source : from->parameters().infos()) {
        if (source.name != target.name) continue;
        Kokkos::deep_copy(
            View1<S>(to->parameters().values().data() + target.offset, target.size),
            View1<S>(from->parameters().values().data() + source.offset, source.size));
      }
    }
    const View2<S> table = to->parameters().find("embedding.untied.table").value2();
    for (Index begin = 0; begin < vocabulary; begin += 5) {  // in other blocks than a step's
      const Index rows = std::min<Index>(5, vocabulary - begin);
      from->materialise(space, begin, View2<S>(&table(begin, 0), rows, 12));
    }

    const Device<S> a(positions * vocabulary), b(positions * vocabulary);
    from->evaluate(space, batch, sum.sum());
    from->logits(space, 0, View2<S>(a.view().data(), positions, vocabulary));
    to->evaluate(space, batch, sum.sum());
    to->logits(space, 0, View2<S>(b.view().data(), positions, vocabulary));
    space.fence();
    const Doubles logits_a = doubles(to_host(a.view())), logits_b = doubles(to_host(b.view()));
    double spread = 0, difference = 0;
    for (std::size_t i = 0; i < logits_a.size(); ++i) {
      spread = std::max(spread, std::abs(logits_a[i]));
      difference = std::max(difference, std::abs(logits_a[i] - logits_b[i]));
    }
    INFO(interface << ": largest logit " << spread);
    CHECK(spread > 0.5);
    // The vectors were summed over at most 12 terms in either way, then the same sums follow.
    CHECK(difference <= rounding_of_sums<S>(12 + terms_to_logits(2, 12, 6, context, 17), spread));
  }
}

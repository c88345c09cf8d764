// A training step moves nothing between host and device but what it must: the batch to the device,
// and the two sums that decide whether there is an update.
//
// Kokkos tells in-process callbacks of every deep_copy: labels, spaces, bytes. What that can show
// on a host backend, and what not:
// - Both spaces are "Host" there, so a transfer is known by the label of its target, not by its
//   spaces. Any copy between two views counts, also one that would stay on a device: a step has no
//   use for it.
// - deep_copy(space, view, value) is a fill. Kokkos gives its source the label "Scalar" or
//   "(none)", which no view of ours has; fills are counted apart and are no transfers.
// - create_mirror_view_and_copy to the host copies nothing where memory is the host's, so the way
//   back of the sums is seen on a device only: there one more is allowed.
// - What MPI, a BLAS or memcpy move is not seen. One rank sends nothing; staged messages of several
//   ranks are in parallel/gradient_reducer.cpp and slice_gatherer.cpp.
#include <map>
#include <string>

#include "harness/catch.hpp"
#include "harness/support.hpp"
#include "train/trainer.hpp"

using namespace lexikos;
using namespace lexikos::test;

namespace {

struct Seen {
  std::map<std::string, int> transfers;  // by the target's label
  int fills = 0;
};
Seen seen;

void on_deep_copy(Kokkos::Profiling::SpaceHandle, const char* target, const void*,
                  Kokkos::Profiling::SpaceHandle, const char* source, const void*,
                  std::uint64_t bytes) {
  const std::string from = source;
  if (from == "Scalar" || from == "(none)") {
    ++seen.fills;
  } else if (bytes > 0) {
    ++seen.transfers[target];
  }
}

/// What deep_copy is told of while `work` is done.
template <class Work>
Seen watch(const Work& work) {
  seen = Seen();
  Kokkos::Tools::Experimental::set_begin_deep_copy_callback(on_deep_copy);
  work();
  Kokkos::Tools::Experimental::set_begin_deep_copy_callback(nullptr);
  return seen;
}

std::string deck(const std::string& interface, const std::string& more) {
  return "[data]\nsource = \"synthetic\"\nvocabulary_size = 61\n"
         "[transformer]\nlayers = 2\nwidth = 32\nheads = 2\ncontext = 16\n"
         "[embedding.lev]\nseed_width = 8\nheads = 2\nknots = 5\nrank = 6\n"
         "[embedding.factored_mlp]\nseed_width = 8\n[batch]\ntokens = 80\nmicro_batch = 2\n"
         "[validation]\ntokens = 0\nevery = 0\n[embedding]\ninterface = \"" +
         interface + "\"\n" + more;
}

/// The second step: the first may set things up.
Seen second_step(const std::string& text) {
  const Communicator comm(MPI_COMM_WORLD);
  const auto settings = MemberSettings::read(Deck::from_string(text, "test.toml"), "", "unused");
  const RunData data = open_data(settings.data, settings.seed, comm);
  Trainer trainer(settings, data, comm);
  trainer.step(1);
  return watch([&] { trainer.step(2); });
}

const std::map<std::string, int> allowed =
    device_is_host
        ? std::map<std::string, int>{{"Lexikos::data::batch", 1}}
        : std::map<std::string, int>{{"Lexikos::data::batch", 1}, {"Lexikos::trainer::sums", 1}};

}  // namespace

TEST_CASE("a step transfers the batch and its sums, nothing else", "[transfers]") {
  const std::string plain = "[run]\nsteps = 3\ngemm_rate = false\n";
  for (const char* interface :
       {"tied", "untied", "albert", "flat_mlp", "factored_mlp", "lev", "binary_code"}) {
    CAPTURE(interface);
    const Seen step = second_step(deck(interface, plain));
    CHECK(step.transfers == allowed);
    CHECK(step.fills > 0);
  }
  for (const std::string& more :
       {std::string("[run]\nsteps = 3\ngemm_rate = false\ncompute = \"bf16\"\n"),
        plain + "[model]\nrecompute = \"block\"\n",
        plain + "[parallel]\nshard_optimizer = true\n"}) {
    CAPTURE(more);
    CHECK(second_step(deck("tied", more)).transfers == allowed);
  }
}

TEST_CASE("a copy in the middle of a step is seen", "[transfers]") {
  const Buffer<float> a("planted::target", 8), b("planted::source", 8);
  const ExecSpace space;
  const Seen found = watch([&] {
    Kokkos::deep_copy(space, a, b);
    Kokkos::deep_copy(space, View1<float>(a.data(), 4), View1<float>(b.data(), 4));
    Kokkos::deep_copy(a, b);
    Kokkos::deep_copy(space, a, 1.0f);
    Kokkos::deep_copy(a, 1.0f);
  });
  int copies = 0;
  for (const auto& [label, count] : found.transfers) copies += count;
  CHECK(copies == 3);
  CHECK(found.fills == 2);
}

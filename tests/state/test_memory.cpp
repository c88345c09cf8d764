// Places in memory: shapes, phases that overlay, what handles refuse; and rounded copies of
// weights.
#include "state/memory.hpp"

#include "harness/catch.hpp"
#include "harness/support.hpp"
#include "state/factor.hpp"

using namespace lexikos;
using namespace lexikos::test;

namespace {

template <class T>
bool overlap(const Rows<T>& a, const Rows<T>& b) {
  return a.data() < b.data() + b.all().size() && b.data() < a.data() + a.all().size();
}

}  // namespace

TEST_CASE("rows know their shape and lie apart", "[memory]") {
  Memory memory;
  const Rows<float> a = memory.rows<float>("a", 5, 3), b = memory.rows<float>("b", 7);
  const Rows<double> none = memory.rows<double>("none", 0, 4);
  CHECK(memory.kept_bytes() == 2 * 64);
  memory.allocate();
  CHECK(a(4).extent(0) == 4);
  CHECK(a(4).extent(1) == 3);
  CHECK(a(2, 3).data() == a.data() + 6);
  CHECK(a.all().extent(0) == 15);
  CHECK(b.column(7).extent(0) == 7);
  CHECK(b.column(2, 5).data() == b.data() + 2);
  CHECK(none(0).extent(0) == 0);
  CHECK_FALSE(overlap(a, b));
}

TEST_CASE("phases overlay each other, never what is kept", "[memory]") {
  Memory memory;
  memory.begin_phase();
  const Rows<float> first = memory.scratch<float>("first", 16),
                    second = memory.scratch<float>("second", 16);
  memory.begin_phase();
  const Rows<float> other = memory.scratch<float>("other", 48);
  const Rows<float> kept = memory.rows<float>("kept", 16);
  CHECK(memory.kept_bytes() == 64);
  CHECK(memory.shared_bytes() == 3 * 64);
  CHECK(memory.bytes() == 4 * 64);
  memory.allocate();
  CHECK_FALSE(overlap(first, second));
  CHECK(overlap(first, other));
  CHECK(overlap(second, other));
  for (const Rows<float>& place : {first, second, other}) CHECK_FALSE(overlap(place, kept));
}

TEST_CASE("handles refuse what is not there", "[memory]") {
  Memory memory;
  const Rows<float> a = memory.rows<float>("block 3 q", 5, 3);
  memory.allocate();
  CHECK_THROWS_WITH(a(6), ContainsSubstring("'block 3 q' [5 3] has no rows 0 to 6"));
  CHECK_THROWS_WITH(a(4, 2), ContainsSubstring("rows 4 to 6"));
  CHECK_THROWS_WITH(a.column(2), ContainsSubstring("more than one column"));
  CHECK_THROWS_WITH(Rows<float>()(1), ContainsSubstring("nobody has reserved"));
}

TEST_CASE("a factor is the weight, or its rounded copy", "[memory]") {
  Parameters<float> parameters;
  Memory memory;
  const Weight<float> weight = parameters.add("w", {3, 2, 4}, {.deviation = 1.0}, Decay::none);
  const Factor<float, float> same(weight, memory, "none");
  CHECK(memory.bytes() == 0);
  const Factor<float, Bf16> rounded(weight, memory, "rounded w");
  CHECK(memory.bytes() == 64);
  parameters.allocate();
  parameters.initialise(1);
  memory.allocate();
  same.refresh(ExecSpace());
  rounded.refresh(ExecSpace());
  Kokkos::fence();
  CHECK(same.factor().data() == weight.value2().data());
  CHECK(rounded.factor().extent(0) == 3);
  CHECK(rounded.factor().extent(1) == 8);
  const auto exact = to_host(weight.value2());
  const Doubles copy = doubles(to_host(rounded.factor()));
  for (std::size_t i = 0; i < copy.size(); ++i) CHECK(copy[i] == double(float(Bf16(exact[i]))));
}

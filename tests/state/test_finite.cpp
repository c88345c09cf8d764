// The first parameter that is not finite, by name, row and column.
#include "state/finite.hpp"

#include "harness/catch.hpp"
#include "harness/file_fixtures.hpp"
#include "harness/support.hpp"

using namespace lexikos;
using namespace lexikos::test;
using fixtures::contains;

namespace {

struct Fixture {
  Fixture() {
    a = parameters.add("a.list", {7}, {}, Decay::none);
    b = parameters.add("b.matrix", {4, 3}, {}, Decay::to_zero);
    c = parameters.add("c.cube", {2, 3, 5}, {}, Decay::to_zero);
  }
  std::string error(Status status = Status::numerical) const {
    return fixtures::error_of([&] { require_finite(parameters, status, "start", "end"); }, status);
  }
  Parameters<float> parameters;
  Weight<float> a, b, c;
};

void put(const View1<float>& values, Index at, double value) {
  Kokkos::deep_copy(Kokkos::subview(values, std::make_pair(at, at + 1)), static_cast<float>(value));
}

}  // namespace

TEST_CASE("the first value that is not finite", "[finite]") {
  Fixture f;
  CHECK(f.error().empty());  // nothing is allocated
  f.parameters.allocate();
  CHECK(f.error().empty());
  put(f.b.value1(), 11, std::numeric_limits<float>::max());
  CHECK(f.error().empty());
  put(f.c.value1(), 22, -infinity);
  CHECK(f.error(Status::file) == "start: 'c.cube' has -inf at row 1, column 7; end");
  put(f.b.value1(), 5, not_a_number);
  put(f.b.value1(), 8, infinity);
  CHECK(contains(f.error(), "'b.matrix' has nan at row 1, column 2"));
  put(f.a.value1(), 6, infinity);
  CHECK(contains(f.error(), "'a.list' has inf at element 6"));
}

TEST_CASE("moments of a slice", "[finite]") {
  Fixture f;
  const Index begin = f.b.range().begin + 3;
  f.parameters.allocate({begin, f.parameters.arena_size()});
  put(View1<float>(f.parameters.second_moments().data(), 8), 2, infinity);
  CHECK(contains(f.error(), "second moment of 'b.matrix' has inf at row 1, column 2"));
  put(View1<float>(f.parameters.first_moments().data(), 8), 4, not_a_number);
  CHECK(contains(f.error(), "first moment of 'b.matrix' has nan at row 2, column 1"));
}

// Rows that belong to tokens: copies, and sums without atomics.
#include <cstdint>

#include "harness/catch.hpp"
#include "harness/support.hpp"
#include "kernels/token_rows.hpp"

using namespace lexikos;
using namespace lexikos::test;

namespace {

using Places = std::vector<std::int32_t>;

Doubles spread(const Doubles& e, const Places& slot, Index u, Index c) {
  const Index n = static_cast<Index>(slot.size());
  const Device<double> e_d(e), x(Doubles(n * c, not_a_number));
  const Device<std::int32_t> slot_d(slot);
  const ExecSpace space;
  token_rows::spread<double>(space, e_d.view(u, c), slot_d.view(), x.view(n, c));
  space.fence();
  return x.values();
}

Doubles gather(const Doubles& dx, const Places& touched, const Places& begin,
               const Places& position, const Doubles& de0, Index u, Index c) {
  const Device<double> dx_d(dx), de(de0);
  const Device<std::int32_t> touched_d(touched), begin_d(begin), position_d(position);
  const ExecSpace space;
  token_rows::gather<double>(space, dx_d.view(static_cast<Index>(dx.size()) / c, c),
                             touched_d.view(), begin_d.view(), position_d.view(), de.view(u, c));
  space.fence();
  return de.values();
}

}  // namespace

TEST_CASE("token_rows::spread copies rows to positions", "[token_rows]") {
  const Doubles e = {1, 2, 3, 4, 5, 6};
  CHECK(spread(e, {2, 0, 2, 1}, 3, 2) == Doubles{5, 6, 1, 2, 5, 6, 3, 4});
  CHECK(spread(e, {}, 3, 2).empty());
  CHECK(spread(e, {1}, 6, 1) == Doubles{2});
}

TEST_CASE("token_rows::gather adds positions to their rows", "[token_rows]") {
  // Rows 0, 2 and 3 of four are touched, and row 2's bucket is empty.
  const Doubles dx = {1, 10, 2, 20, 4, 40, 8, 80};
  const Doubles found = gather(dx, {0, 2, 3}, {0, 1, 1, 4}, {2, 0, 1, 3},
                               {0.5, 0.5, 7, 7, 0.25, 0.25, 100, 100}, 4, 2);
  CHECK(found == Doubles{4.5, 40.5, 7, 7, 0.25, 0.25, 111, 210});
  // Nothing touched.
  CHECK(gather({}, {}, {0}, {}, {1, 2}, 1, 2) == Doubles{1, 2});
}

TEST_CASE("token_rows::gather is the transpose of spread", "[token_rows][gradient]") {
  Random random(4);
  const Index n = 500, u = 37, c = 19;
  Places slot(n);
  for (auto& s : slot) s = static_cast<std::int32_t>(random.below(u - 1));  // the last is never met
  Places touched, begin = {0}, position;
  for (Index row = 0; row < u; ++row) {
    touched.push_back(static_cast<std::int32_t>(row));
    for (Index i = 0; i < n; ++i) {
      if (slot[i] == row) position.push_back(static_cast<std::int32_t>(i));
    }
    begin.push_back(static_cast<std::int32_t>(position.size()));
  }
  const Doubles e = random.normals(u * c), dx = random.normals(n * c);
  const Doubles de = gather(dx, touched, begin, position, Doubles(u * c, 0.0), u, c);
  const Doubles x = spread(e, slot, u, c);
  CHECK(std::abs(dot(dx, x) - dot(de, e)) < likely_rounding<double>(n * c, norm(dx) * norm(x)));
  const auto value = [&](const Doubles& at) { return dot(dx, spread(at, slot, u, c)); };
  CHECK(gradient_error(value, e, de) < gradient_tolerance);
  // A fixed order: the same bits every time.
  for (int i = 0; i < 3; ++i) {
    CHECK(gather(dx, touched, begin, position, Doubles(u * c, 0.0), u, c) == de);
  }
}

TEST_CASE("token_rows::take and add read and add to rows of a table", "[token_rows]") {
  const Index v = 70000, c = 3;  // ids past 16 bits
  const std::vector<TokenId> tokens = {69999, 0, 65536};
  Random random(5);
  const Doubles table = random.normals(v * c);
  const Device<double> table_d(table), e(Doubles(3 * c, not_a_number));
  const Device<TokenId> tokens_d(tokens);
  const ExecSpace space;
  token_rows::take<double>(space, table_d.view(v, c), tokens_d.view(), e.view(3, c));
  space.fence();
  Doubles expected;
  for (const TokenId id : tokens) {
    for (Index i = 0; i < c; ++i) expected.push_back(table[Index(id) * c + i]);
  }
  CHECK(e.values() == expected);

  const Doubles de = random.normals(3 * c);
  const Device<double> de_d(de);
  token_rows::add<double>(space, de_d.view(3, c), tokens_d.view(), table_d.view(v, c));
  space.fence();
  Doubles added = table;
  for (Index u = 0; u < 3; ++u) {
    for (Index i = 0; i < c; ++i) added[Index(tokens[u]) * c + i] += de[u * c + i];
  }
  CHECK(table_d.values() == added);

  const Device<TokenId> none(0);
  token_rows::take<double>(space, table_d.view(v, c), none.view(), e.view(0, c));
  token_rows::add<double>(space, de_d.view(0, c), none.view(), table_d.view(v, c));
  space.fence();
  CHECK(table_d.values() == added);
}

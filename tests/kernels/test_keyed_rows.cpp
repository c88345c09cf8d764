// Sums of rows by key against a plain loop in the same order: the same bits, not near ones.
#include "harness/catch.hpp"
#include "harness/reference.hpp"
#include "kernels/keyed_rows.hpp"

using namespace lexikos;
using namespace lexikos::test;

namespace {

struct Case {
  const char* name;
  Index rows, per_row, keys, width;
  Index (*key)(Index n, Index keys, Random& random);
};

Index any(Index, Index keys, Random& random) { return Index(random.below(keys)); }
Index one(Index, Index, Random&) { return 3; }
/// Every second entry has the same key, the others any.
Index skewed(Index n, Index keys, Random& random) {
  return n % 2 == 0 ? 1 : Index(random.below(keys));
}

const Case cases[] = {{"spread", 500, 1, 40, 7, any},
                      {"several keys a row", 300, 3, 90, 20, any},
                      {"more keys than entries", 9, 2, 1000, 3, any},
                      {"one key", 400, 1, 5, 300, one},
                      {"skewed", 700, 2, 11, 257, skewed},
                      {"no rows", 0, 1, 6, 4, any},
                      {"one row", 1, 1, 1, 1, [](Index, Index, Random&) { return Index{0}; }}};

std::vector<std::int32_t> keys_of(const Case& z) {
  Random random(z.rows + 7);
  std::vector<std::int32_t> keys;
  for (Index n = 0; n < z.rows * z.per_row; ++n) {
    keys.push_back(static_cast<std::int32_t>(z.key(n, z.keys, random)));
  }
  return keys;
}

struct Sorted {
  std::vector<std::int32_t> begin, entry;
};

class OnDevice {
 public:
  explicit OnDevice(const Case& z)
      : z_(z), key_(keys_of(z)), cursor_(z.keys), begin_(z.keys + 1), entry_(z.rows * z.per_row) {
    keyed_rows::sort(space_, key_.view(), cursor_.view(), buckets());
  }
  keyed_rows::Buckets buckets() const { return {begin_.view(), entry_.view()}; }
  template <class S>
  Doubles sums(const Doubles& x, const Doubles& before) const {
    const Device<S> rows(x), sums(before);
    keyed_rows::add<S>(space_, buckets(), z_.per_row, rows.view(z_.rows, z_.width),
                       sums.view(z_.keys, z_.width));
    space_.fence();
    return sums.values();
  }

 private:
  Case z_;
  ExecSpace space_;
  Device<std::int32_t> key_, cursor_, begin_, entry_;
};

/// sums[key] += row, entry by entry.
template <class S>
Doubles expected(const Case& z, const Doubles& x, const Doubles& before) {
  std::vector<S> sums(before.begin(), before.end());
  const std::vector<std::int32_t> keys = keys_of(z);
  for (Index n = 0; n < Index(keys.size()); ++n) {
    for (Index c = 0; c < z.width; ++c) {
      sums[keys[n] * z.width + c] += S(x[n / z.per_row * z.width + c]);
    }
  }
  return {sums.begin(), sums.end()};
}

}  // namespace

TEMPLATE_TEST_CASE("rows are summed by key in ascending order", "[keyed_rows]", float, double) {
  for (const Case& z : cases) {
    CAPTURE(z.name);
    Random random(2);
    const Doubles x = rounded<float>(random.normals(z.rows * z.width)),
                  before = rounded<float>(random.normals(z.keys * z.width));
    const Doubles wanted = expected<TestType>(z, x, before);
    CHECK(OnDevice(z).sums<TestType>(x, before) == wanted);
    CHECK(OnDevice(z).sums<TestType>(x, before) == wanted);
  }
}

TEST_CASE("buckets hold every entry once, ascending in each key", "[keyed_rows]") {
  for (const Case& z : cases) {
    CAPTURE(z.name);
    const std::vector<std::int32_t> keys = keys_of(z);
    const OnDevice found(z);
    const auto begin = to_host(found.buckets().begin), entry = to_host(found.buckets().entry);
    CHECK(begin[0] == 0);
    CHECK(begin[z.keys] == Index(keys.size()));
    for (Index k = 0; k < z.keys; ++k) {
      for (Index j = begin[k]; j < begin[k + 1]; ++j) {
        CHECK(keys[entry[j]] == k);
        if (j > begin[k]) CHECK(entry[j] > entry[j - 1]);
      }
    }
  }
}

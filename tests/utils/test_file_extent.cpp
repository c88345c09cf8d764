// Sizes that a file gives are held against the file.
#include "harness/catch.hpp"
#include "harness/file_fixtures.hpp"
#include "utils/file_extent.hpp"

using namespace lexikos;
using namespace fixtures;

TEST_CASE("products and sums of sizes never overflow") {
  const FileExtent file("a.bin", 100);
  CHECK(file.product("its extents", {3, 5, 7}) == 105);
  CHECK(file.product("its extents", {}) == 1);
  CHECK(file.product("its extents", std::vector<std::uint64_t>{0, 9}) == 0);
  CHECK(file.product("its extents", {0x7fffffff, 0x100000000u}) == 0x7fffffff00000000);
  for (const std::uint64_t factor : {std::uint64_t{1} << 31, ~std::uint64_t{0}}) {
    const std::string text = error_of([&] {
      (void)file.product("its extents", {factor, 0x100000000u});
    });
    CHECK(contains(text, "cannot read 'a.bin': its extents multiply"));
  }
  CHECK(contains(error_of([&] { (void)file.product("one", {std::uint64_t{1} << 63}); }), "one"));
  CHECK(file.sum("its parts", 1, 2) == 3);
  CHECK(contains(error_of([&] { (void)file.sum("its parts", 1, 0x7fffffffffffffff); }), "parts"));
  CHECK(contains(error_of([&] { (void)file.sum("its parts", ~std::uint64_t{0}, 2); }), "parts"));
}

TEST_CASE("what lies outside a file is refused without a product") {
  const FileExtent file("a.bin", 100);
  CHECK_NOTHROW(file.require_inside("it", 0, 25, 4));
  CHECK_NOTHROW(file.require_inside("it", 100, 0, 4));
  CHECK_NOTHROW(file.require_inside("it", 99, 1, 1));
  const auto outside = [&](std::uint64_t begin, std::uint64_t count, std::uint64_t each) {
    return contains(error_of([&] { file.require_inside("it", begin, count, each); }),
                    "the file ends at byte 100");
  };
  CHECK(outside(0, 26, 4));
  CHECK(outside(101, 0, 1));
  CHECK(outside(4, std::uint64_t{1} << 62, 4));  // the product is 0
  CHECK(outside(~std::uint64_t{0}, 2, 1));       // so is the sum
  CHECK(contains(error_of([] { (void)FileExtent("/no/such"); }), "No such file"));
}

// Catch2 2.13 and 3.x under one include: TEST_CASE, SECTION, CHECK, REQUIRE,
// CHECK_THROWS_AS, GENERATE, TEMPLATE_TEST_CASE, Approx.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>  // says the same of its own Approx
#endif

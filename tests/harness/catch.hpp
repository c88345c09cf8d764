// Catch2 2.13 and 3.x under one include: TEST_CASE, SECTION, CHECK, REQUIRE,
// CHECK_THROWS_AS, CHECK_THROWS_WITH, GENERATE, TEMPLATE_TEST_CASE, Approx,
// ContainsSubstring.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
#else
#include <string>

#include <catch2/catch.hpp>  // says the same of its own Approx
inline auto ContainsSubstring(const std::string& text) { return Catch::Contains(text); }
#endif

#include "capacity/law.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace lexikos::capacity {
namespace {

double positive_square(double epsilon) {
  const double e = std::max(epsilon, 0.0);
  return e * e;
}

}  // namespace

Law Law::read(const DeckTable& table) {
  Law law;
  const auto constant = [&](const char* name, const char* doc, double& value) {
    value = table.real({.name = name, .doc = doc}, value, Between(1e-6, 1e6));
  };
  constant("jl_textbook", "C of the Johnson-Lindenstrauss form, as in textbooks", law.jl_textbook);
  constant("jl_random", "C of the same form, fitted to random packings", law.jl_random);
  constant("adjusted", "C of k = d exp(d eps^2 / C), fitted to optimised packings", law.adjusted);
  constant("scale", "C of the four-parameter form eps^2 = C ln(k^a / d)^b / d^c", law.scale);
  constant("a", "power of k in it", law.a);
  constant("b", "power of the logarithm in it", law.b);
  constant("c", "power of d in it", law.c);
  return law;
}

double log_capacity_jl(double d, double epsilon, double constant) {
  return d * positive_square(epsilon) / constant;
}

double log_capacity_adjusted(double d, double epsilon, const Law& law) {
  return std::log(d) + d * positive_square(epsilon) / law.adjusted;
}

double log_capacity_fitted(double d, double epsilon, const Law& law) {
  const double inner = positive_square(epsilon) * std::pow(d, law.c) / law.scale;
  return (std::log(d) + std::pow(inner, 1.0 / law.b)) / law.a;
}

int capacity_class(double epsilon) { return epsilon > 0.2 ? 1 : epsilon < 0.1 ? 2 : 0; }

std::string capacity_text(double log_k, Rounding rounding) {
  char text[48];
  const double ten = log_k / std::log(10.0);
  if (!std::isfinite(ten)) return "-";  // constants that leave the doubles
  if (!(ten < 300)) {
    std::snprintf(text, sizeof text, ten < 1e12 ? "10^%.2f" : "10^%.2e", ten);
  } else if (ten < 6) {
    // A number that is whole but for rounding must not become the next one.
    const double k = std::exp(log_k);
    const bool up = rounding == Rounding::up;
    std::snprintf(text, sizeof text, "%.0f",
                  up ? std::ceil(k * (1 - 1e-12)) : std::floor(k * (1 + 1e-12)));
  } else {
    std::snprintf(text, sizeof text, "%.2e", std::exp(log_k));
  }
  return text;
}

}  // namespace lexikos::capacity

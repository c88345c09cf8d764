// How many directions fit: ln k of the laws of "the paper" arXiv:2606.02765, given the width d and
// the coherence epsilon. In ln k, because k overflows a double soon.
//
//   Johnson-Lindenstrauss   k = exp(d eps^2 / C)
//   adjusted                k = d exp(d eps^2 / C)
//   four-parameter          k = (d exp((eps^2 d^c / C)^(1/b)))^(1/a)
//
// The laws hold for eps > 0; an eps below 0 (rows that repel each other) is taken as 0. Their
// inverses, eps of k, are what packings are fitted to: postprocess/analysis/law.py.
#pragma once

#include <string>

#include "deck/deck.hpp"

namespace lexikos::capacity {

/// The constants; the defaults are the published fits.
struct Law {
  double jl_textbook = 8.0;
  double jl_random = 3.029;   // random packings
  double adjusted = 1.2934;   // optimised packings
  double scale = 0.45809143;  // four-parameter: C, a, b, c; optimised packings
  double a = 1.0668005;
  double b = 1.44738666;
  double c = 0.97197234;

  /// Keys of [capacity.law].
  static Law read(const DeckTable& table);
};

double log_capacity_jl(double d, double epsilon, double constant);
double log_capacity_adjusted(double d, double epsilon, const Law& law);
double log_capacity_fitted(double d, double epsilon, const Law& law);

/// 1: epsilon > 0.2, 2: epsilon < 0.1, 0: neither.
int capacity_class(double epsilon);

/// e^log_k as a number of vectors: "277", "3.99e+07", and "10^1234.57" where no double holds it. A
/// bound k <= x is rounded down; the paper rounds the four-parameter k up.
enum class Rounding { down, up };
std::string capacity_text(double log_k, Rounding rounding = Rounding::down);

}  // namespace lexikos::capacity

#include "jobs/capacity/capacity_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "capacity/moments.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

using capacity::ExtremePair;
using capacity::MatrixReport;
using capacity::SetStatistics;

const char* const none = "-";

template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string short_name(const SetStatistics& s) {
  if (s.name == "raw") return "all";
  if (s.name == "raw_regular") return "regular";
  return s.name == "centred" ? "centred" : "reg. centred";
}

/// A number, or "-" where the rows define none.
std::string cell(const char* format, double value) {
  return std::isfinite(value) ? formatted(format, value) : none;
}

std::string class_text(double epsilon) {
  const int number = capacity::capacity_class(epsilon);
  return number == 0 ? "-" : std::to_string(number);
}

/// One column of the table for each set of rows.
std::string table_row(const MatrixReport& report, const std::string& name,
                      std::string (*value)(const SetStatistics&, const MatrixReport&,
                                           const capacity::Law&),
                      const capacity::Law& law) {
  std::string line = formatted("  %-14s", name.c_str());
  for (const SetStatistics& s : report.sets) {
    const std::string cell = s.tally.pairs > 0 ? value(s, report, law) : none;
    line += formatted(" %15s", cell.c_str());
  }
  return line + "\n";
}

double width_of(const MatrixReport& report) { return static_cast<double>(report.width); }

std::string rows_text(const MatrixReport& report) {
  std::string text =
      formatted("  V %s  D %s  stored as %s\n", format_count(report.vocabulary).c_str(),
                format_count(report.width).c_str(), report.element.c_str());
  const auto line = [&](const char* what, Index count) {
    if (count > 0) text += formatted("  %-58s %15s\n", what, format_count(count).c_str());
  };
  const auto size = [](const std::vector<Index>& v) { return static_cast<Index>(v.size()); };
  line("rows left out: past the tokenizer's size (padding)", report.padding);
  line("rows left out: all zero", size(report.zero));
  line("irregular rows: never in the training tokens", size(report.untrained));
  line("irregular rows: outliers of norm", size(report.outliers));
  std::vector<double> norms;
  for (const double x : report.norms) {
    if (x > 0) norms.push_back(x);
  }
  std::sort(norms.begin(), norms.end());
  text += formatted("  norm of a row: least %.4g, median %.4g, largest %.4g\n", norms.front(),
                    norms[norms.size() / 2], norms.back());
  return text;
}

std::string statistics_text(const MatrixReport& report, const capacity::Law& law) {
  using Set = const SetStatistics&;
  using Report = const MatrixReport&;
  using Law = const capacity::Law&;
  std::string text = formatted("  %-14s", "rows");
  for (const SetStatistics& s : report.sets) text += formatted(" %15s", short_name(s).c_str());
  text += "\n";
  const auto row = [&](const char* name, std::string (*value)(Set, Report, Law)) {
    text += table_row(report, name, value, law);
  };
  row("number", [](Set s, Report, Law) { return format_count(s.rows); });
  row("mu", [](Set s, Report, Law) { return cell("%.8f", s.mean); });
  row("sigma", [](Set s, Report, Law) { return cell("%.8f", s.deviation); });
  row("epsilon", [](Set s, Report, Law) { return cell("%.6f", s.epsilon()); });
  row("class", [](Set s, Report, Law) { return class_text(s.epsilon()); });
  row("eps sqrt(D)/2",
      [](Set s, Report r, Law) { return cell("%.4f", s.epsilon() * std::sqrt(width_of(r)) / 2); });
  row("skewness", [](Set s, Report, Law) { return cell("%.4f", s.tally.skewness()); });
  row("least cosine", [](Set s, Report, Law) { return cell("%.6f", s.tally.smallest); });
  row("largest cosine", [](Set s, Report, Law) { return cell("%.6f", s.tally.largest); });
  row("k JL textbook", [](Set s, Report r, Law law) {
    return capacity::capacity_text(
        capacity::log_capacity_jl(width_of(r), s.epsilon(), law.jl_textbook));
  });
  row("k JL random", [](Set s, Report r, Law law) {
    return capacity::capacity_text(
        capacity::log_capacity_jl(width_of(r), s.epsilon(), law.jl_random));
  });
  row("k adjusted", [](Set s, Report r, Law law) {
    return capacity::capacity_text(capacity::log_capacity_adjusted(width_of(r), s.epsilon(), law));
  });
  row("k four-param.", [](Set s, Report r, Law law) {
    return capacity::capacity_text(capacity::log_capacity_fitted(width_of(r), s.epsilon(), law),
                                   capacity::Rounding::up);
  });
  const bool spectra = !report.sets.front().eigenvalues.empty();
  if (!spectra) return text;
  row("effective rank", [](Set s, Report, Law) {
    return s.eigenvalues.empty() ? std::string(none)
                                 : cell("%.2f", capacity::effective_rank(s.eigenvalues));
  });
  row("participation", [](Set s, Report, Law) {
    return s.eigenvalues.empty() ? std::string(none)
                                 : cell("%.2f", capacity::participation_ratio(s.eigenvalues));
  });
  return text;
}

std::string token_text(Index id, const std::vector<std::string>& pieces) {
  std::string text = std::to_string(id);
  if (id >= static_cast<Index>(pieces.size())) return text;
  std::string piece;
  for (const char c : pieces[id]) piece += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  // Cut between characters: a byte 10xxxxxx continues one.
  std::size_t end = std::min<std::size_t>(piece.size(), 18);
  while (end < piece.size() && end > 0 && (static_cast<unsigned char>(piece[end]) & 0xC0) == 0x80) {
    --end;
  }
  return text + " '" + piece.substr(0, end) + "'";
}

std::string extremes_text(const char* title, const std::vector<ExtremePair>& pairs,
                          const std::vector<std::string>& pieces) {
  constexpr std::size_t shown = 5;  // the file has all of them
  std::string text;
  for (std::size_t k = 0; k < std::min(pairs.size(), shown); ++k) {
    const ExtremePair& pair = pairs[k];
    text += formatted("  %-14s %10.6f  ", k == 0 ? title : "", pair.cosine) +
            token_text(pair.first, pieces) + "  " + token_text(pair.second, pieces) + "\n";
  }
  return text;
}

std::string lost_text(const MatrixReport& report) {
  std::string text;
  for (const SetStatistics& s : report.sets) {
    if (s.lost == 0) continue;
    text += "  " + short_name(s) + ": " + format_count(s.lost) +
            " rows equal the mean row; they have no direction without it\n";
  }
  return text;
}

}  // namespace

std::string matrix_text(const MatrixReport& report, const capacity::Law& law,
                        const std::vector<std::string>& pieces) {
  std::string text = rows_text(report) + statistics_text(report, law) + lost_text(report);
  const SetStatistics& raw = report.sets.front();
  text += extremes_text("most similar", raw.tally.most_positive, pieces);
  text += extremes_text("most opposite", raw.tally.most_negative, pieces);
  text += formatted("  sigma from: %s\n", capacity::moment_source_text(raw.source));
  text += formatted("  the tiles' sums less it: mu %+.1e, sigma %+.1e\n",
                    raw.tally.mean() - raw.mean, raw.tally.deviation() - raw.deviation);
  return text;
}

std::string token_cosine_text(const capacity::TokenCosines& cosines) {
  return "  cosine of a token's two vectors: mean " + cell("%.6f", cosines.mean) + ", sd " +
         cell("%.6f", cosines.deviation) + " over " + format_count(cosines.tokens) + " tokens\n";
}

std::string speed_text(const MatrixReport& report, double gemm_rate) {
  const double n = static_cast<double>(report.sets.front().rows);
  std::string text = formatted("  seconds: pairs %.2f", report.pair_seconds);
  if (report.gram_seconds > 0) text += formatted(", Gram matrices %.2f", report.gram_seconds);
  if (report.spectrum_seconds > 0) text += formatted(", spectra %.2f", report.spectrum_seconds);
  text += formatted(", in all %.2f\n", report.all_seconds);
  if (gemm_rate > 0 && !report.in_double) {
    const double bare = n * n * static_cast<double>(report.width) / gemm_rate;
    text += formatted("  V^2 D at the GEMM rate of %s: %.2f s; pairs %.2f, all %.2f times it\n",
                      format_si(gemm_rate, "FLOP/s").c_str(), bare, report.pair_seconds / bare,
                      report.all_seconds / bare);
  }
  return text;
}

std::string capacity_definitions() {
  return "mu, sigma: mean and standard deviation of the cosines of all pairs of rows;\n"
         "epsilon = mu + 2 sigma. Class 1: epsilon > 0.2, class 2: epsilon < 0.1.\n"
         "eps sqrt(D)/2 is 1 for independent Gaussian rows. centred: less the mean row;\n"
         "regular: without rows never trained on and outliers of norm.\n"
         "k: how many directions fit at this epsilon (Johnson-Lindenstrauss, adjusted,\n"
         "four-parameter law). effective rank: exp of the entropy of the singular values\n"
         "of the unit rows U over their sum; participation: (sum)^2 / sum of squares of\n"
         "the eigenvalues of U^T U. -: not defined by these rows (no two of them, no\n"
         "two different cosines).";
}

}  // namespace lexikos

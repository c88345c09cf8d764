#include "jobs/capacity/capacity_file.hpp"

#include <cmath>
#include <utility>

#include "capacity/moments.hpp"
#include "hdf5/file.hpp"

namespace lexikos {
namespace {

using capacity::ExtremePair;
using capacity::MatrixReport;
using capacity::SetStatistics;

template <class T>
void write_list(Hdf5Writer& file, const std::string& name, const std::vector<T>& values,
                const std::string& unit, const std::string& definition) {
  file.write(name, {static_cast<std::int64_t>(values.size())}, values.data());
  file.set_attributes(name, Attributes().set("unit", unit).set("definition", definition));
}

void write_counts(Hdf5Writer& file, const std::string& name, const std::vector<double>& counts,
                  const std::string& definition) {
  write_list(file, name, std::vector<std::int64_t>(counts.begin(), counts.end()), "1", definition);
}

void write_extremes(Hdf5Writer& file, const std::string& name,
                    const std::vector<ExtremePair>& pairs, const std::string& which,
                    const std::vector<std::string>& pieces) {
  std::vector<std::int64_t> ids;
  std::vector<double> cosines;
  std::vector<std::string> texts;
  for (const ExtremePair& pair : pairs) {
    for (const Index id : {pair.first, pair.second}) {
      ids.push_back(id);
      if (id < static_cast<Index>(pieces.size())) texts.push_back(pieces[id]);
    }
    cosines.push_back(pair.cosine);
  }
  file.write(name + "_ids", {static_cast<std::int64_t>(pairs.size()), 2}, ids.data());
  file.set_attribute(name + "_ids", "definition", "rows of the " + which + " pairs");
  write_list(file, name, cosines, "1", "cosines of the " + which + " pairs, in double");
  if (texts.size() == ids.size() && !texts.empty()) file.write_strings(name + "_pieces", texts);
}

/// Sets those that the rows define; the others are absent.
void set_finite(Attributes& a, const std::vector<std::pair<const char*, double>>& values) {
  for (const auto& [name, value] : values) {
    if (std::isfinite(value)) a.set(name, value);
  }
}

Attributes set_attributes(const SetStatistics& s, double width, const capacity::Law& law) {
  const double epsilon = s.epsilon(), ten = std::log(10.0);
  Attributes a;
  a.set("description", s.meaning).set("rows", s.rows).set("rows_equal_to_mean", s.lost);
  a.set("pairs", s.tally.pairs);
  if (!(s.tally.pairs > 0)) return a;
  set_finite(a, {{"mu", s.mean},
                 {"sigma", s.deviation},
                 {"epsilon", epsilon},
                 {"epsilon_sqrt_d_half", epsilon * std::sqrt(width) / 2},
                 {"skewness", s.tally.skewness()},
                 {"smallest", s.tally.smallest},
                 {"largest", s.tally.largest},
                 {"mu_of_tiles", s.tally.mean()},
                 {"sigma_of_tiles", s.tally.deviation()}});
  a.set("sigma_from", capacity::moment_source_text(s.source));
  a.set("class", capacity::capacity_class(epsilon));
  set_finite(
      a, {{"log10_k_jl_textbook", capacity::log_capacity_jl(width, epsilon, law.jl_textbook) / ten},
          {"log10_k_jl_random", capacity::log_capacity_jl(width, epsilon, law.jl_random) / ten},
          {"log10_k_adjusted", capacity::log_capacity_adjusted(width, epsilon, law) / ten},
          {"log10_k_fitted", capacity::log_capacity_fitted(width, epsilon, law) / ten}});
  if (s.eigenvalues.empty()) return a;
  set_finite(a, {{"effective_rank", capacity::effective_rank(s.eigenvalues)},
                 {"participation_ratio", capacity::participation_ratio(s.eigenvalues)}});
  return a;
}

void write_set(Hdf5Writer& file, const std::string& matrix, const SetStatistics& s, double width,
               const capacity::Law& law, const std::vector<std::string>& pieces) {
  const std::string group = matrix + "/" + s.name;
  file.create_group(group);
  file.set_attributes(group, set_attributes(s, width, law));
  if (!(s.tally.pairs > 0)) return;
  write_counts(file, group + "/histogram", s.tally.histogram,
               "pairs per bin of their cosine; bins of equal width over [-1, 1]");
  write_extremes(file, group + "/most_positive", s.tally.most_positive, "most similar", pieces);
  write_extremes(file, group + "/most_negative", s.tally.most_negative, "most opposite", pieces);
  if (!s.eigenvalues.empty()) {
    write_list(file, group + "/eigenvalues", s.eigenvalues, "1",
               "of U^T U with U the unit rows, descending; their sum is the number of rows");
  }
}

void write_record(Hdf5Writer& file, const std::string& group, const CapacityRecord& record,
                  const capacity::Law& law, const std::vector<std::string>& pieces) {
  const MatrixReport& r = record.report;
  file.create_group(group);
  file.set_attributes(group, Attributes()
                                 .set("file", record.file)
                                 .set("side", record.side)
                                 .set("tensor", r.name)
                                 .set("element", r.element)
                                 .set("vocabulary_size", r.vocabulary)
                                 .set("width", r.width)
                                 .set("rows_padding", r.padding)
                                 .set("pairs_multiplied_in", r.in_double ? "double" : "fp32")
                                 .set("seconds", r.all_seconds)
                                 .set("seconds_pairs", r.pair_seconds));
  write_list(file, group + "/norms", r.norms, "1",
             "Euclidean norm of each row, padding aside; the largest double where it is larger");
  write_list(file, group + "/norm_edges", r.norm_edges, "1",
             "edges of norm_counts, equal distances of ln norm");
  write_counts(file, group + "/norm_counts", r.norm_counts, "rows per bin of their norm");
  write_list(file, group + "/rows_zero", r.zero, "1", "rows that are all zero; left out");
  write_list(file, group + "/rows_untrained", r.untrained, "1",
             "rows of tokens that the training tokens do not have; irregular");
  write_list(file, group + "/rows_outlier", r.outliers, "1",
             "rows whose ln norm is further from the median than outlier_z 1.4826 MAD; irregular");
  for (const SetStatistics& s : r.sets) {
    write_set(file, group, s, static_cast<double>(r.width), law, pieces);
  }
  if (!record.token_cosines) return;
  const capacity::TokenCosines& c = *record.token_cosines;
  const std::string name = group + "/token_cosines";
  write_counts(file, name, c.histogram,
               "tokens per bin of the cosine of their input and output vector, over [-1, 1]");
  file.set_attributes(name, Attributes()
                                .set("tokens", c.tokens)
                                .set("skipped", c.skipped)
                                .set("mean", c.mean)
                                .set("deviation", c.deviation));
}

}  // namespace

void write_capacity(const std::string& path, const Attributes& root,
                    const std::vector<CapacityRecord>& records, const capacity::Law& law,
                    const std::vector<std::string>& pieces) {
  Hdf5Writer file(path);
  Attributes all;
  all.set("format", "lexikos-capacity").set("format_version", capacity_format_version);
  file.set_attributes("/", all.add_missing(root));
  file.create_group("/matrices");
  for (std::size_t k = 0; k < records.size(); ++k) {
    write_record(file, "/matrices/" + std::to_string(k), records[k], law, pieces);
  }
  file.commit();
}

}  // namespace lexikos

// One cell of a packing experiment: what was asked, what was found. README.md has the layout.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hdf5/attributes.hpp"

namespace lexikos {

inline constexpr std::int64_t packing_format_version = 1;

/// What a cell was made with; two files with the same numbers hold the same result.
struct PackingRequest {
  std::string kind;  ///< "optimised" or "random"
  std::int64_t dimension = 0, count = 0;
  std::int64_t repeats = 0;  ///< steps, or trials
  std::int64_t power = 0;    ///< p; 0 where kind is random
  double learning_rate = 0;  ///< 0 where kind is random
  std::int64_t seed = 0;
};

struct PackingResult {
  double epsilon = 0;  ///< optimised: of the last step; random: smallest of the trials
  double seconds = 0;
  std::vector<std::int64_t> at;  ///< steps at which the history was recorded, or trials
  std::vector<double> epsilons;  ///< largest |cosine| there
  std::vector<double> losses;    ///< sum over i != j of |cosine|^p; empty where kind is random
};

/// <folder>/cell_<kind>_d<d>_k<k>.h5
std::string packing_path(const std::string& folder, const PackingRequest& request);

/// Writes the file whole or not at all. Errors: as Hdf5Writer.
void write_packing(const std::string& path, const PackingRequest& request,
                   const PackingResult& result, const Attributes& attributes);

/// True where `path` holds this very cell, false where there is no file. Throws Error(file) where
/// it was made with other settings (naming the first that differs) or is damaged.
bool has_packing(const std::string& path, const PackingRequest& request);

}  // namespace lexikos

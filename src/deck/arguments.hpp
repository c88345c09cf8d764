// The command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lexikos {

/// Arguments that begin so are Kokkos's.
inline constexpr const char* kokkos_prefix = "--kokkos-";

struct Arguments {
  std::string deck;           ///< -i: TOML file
  std::string restart;        ///< -r: a checkpoint file, or "latest"; "" for a fresh start
  std::string outdir;         ///< -d: folder for all output; "" for what the deck says
  bool dry_run = false;       ///< -n: build everything, print the resolved deck and tables, exit
  bool show_config = false;   ///< -c: print the configuration, exit
  bool show_keys = false;     ///< -k: print the key reference as Markdown, exit
  bool show_help = false;     ///< -h, --help
  bool show_version = false;  ///< --version
  std::optional<std::int64_t> wall_limit;  ///< -t, in seconds
  std::vector<std::string> overrides;      ///< table.key=value, in order

  /// True where the run ends after printing and needs no deck.
  [[nodiscard]] bool only_prints() const {
    return show_config || show_keys || show_help || show_version;
  }
};

/// Reads the arguments after the program's name. Those that begin with --kokkos- are left for
/// Kokkos::initialize. Throws Error(deck) on an unknown argument, a flag without its value or given
/// twice, and a missing -i; flags are not joined with their values (-ideck is an error).
Arguments parse_arguments(int argc, const char* const* argv);

/// What -h prints: at most 80 columns, exit statuses included.
std::string usage();

}  // namespace lexikos

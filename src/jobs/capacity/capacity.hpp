// Job "capacity": the geometry of embedding matrices, from any weight file.
#pragma once

#include <string>
#include <vector>

#include "capacity/analysis.hpp"
#include "deck/deck.hpp"
#include "parallel/communicator.hpp"

namespace lexikos {

struct CapacitySettings {
  std::vector<std::string> files;
  std::string matrix;                       // "input", "output", "both"
  std::string input_tensor, output_tensor;  // "": by the families' names
  std::string tokens_file;                  // "": rows that were never trained on are not known
  bool gemm_rate = true;
  capacity::AnalysisSettings analysis;
  capacity::Law law;
  std::string directory;
  std::string resolved_deck;

  /// Reads [capacity] and [capacity.law]; a key that nobody read is an Error(deck). `directory` ""
  /// is the deck's output.directory.
  static CapacitySettings read(const Deck& deck, const std::string& directory);
};

/// Analyses the files one after the other and writes <directory>/capacity.h5; with `dry` only says
/// what would be done. Collective.
void run_capacity(const CapacitySettings& settings, bool dry, const Communicator& world);

}  // namespace lexikos

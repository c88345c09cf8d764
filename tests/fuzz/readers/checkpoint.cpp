// outputs/checkpoint: edits of a checkpoint, read as a restart, an evaluation and a weight file
// read it. What was accepted is sealed (format version 1 had no seal) and is what the library
// reads.
#include "outputs/checkpoint.hpp"

#include <algorithm>
#include <optional>

#include "fuzz/hdf5_edits.hpp"
#include "fuzz/reader.hpp"
#include "fuzz/weight_checks.hpp"
#include "harness/history_rows.hpp"

namespace {

namespace fuzz = lexikos::fuzz;
using lexikos::CheckpointHeader;
using lexikos::Status;

/// Two parameters and their moments.
struct Model {
  std::vector<float> values = std::vector<float>(3 * 15, 1.5F);

  template <class T>
  lexikos::StateArrays<T> arrays() {
    lexikos::StateArrays<T> state;
    float* at = values.data();
    for (auto* set : {&state.parameters, &state.moment1, &state.moment2}) {
      set->push_back({"head.weight", {4, 3}, at});
      set->push_back({"norm", {3}, at + 12});
      at += 15;
    }
    return state;
  }
};

void write_file(const std::string& path) {
  Model model;
  CheckpointHeader header;
  header.step = 12;
  header.tokens = 4096;
  header.deck = "[embedding]\ninterface = \"tied\"\n";
  header.code_version = "abc";
  header.other.set("data_hash", "ff");
  lexikos::write_checkpoint<float>(path, header, model.arrays<const float>(),
                                   fixtures::some_history(3));
}

/// What a file says of its version; 0 where it cannot be read.
std::int64_t version_of(const std::string& path) {
  try {
    return lexikos::Hdf5Reader(path).integer("/", "format_version");
  } catch (const lexikos::Error&) {
    return 0;
  }
}

void read_state(const fuzz::Edited& file) {
  Model model;
  lexikos::History history = fixtures::empty_history();
  std::optional<CheckpointHeader> header;
  const bool accepted = fuzz::accepts(Status::file, [&] {
    header = lexikos::read_checkpoint<float>(file.path, model.arrays<float>(), &history);
  });
  if (!accepted) return;
  fuzz::require(file.sealed || version_of(file.path) == 1,
                "what is not sealed is refused\n" + file.told);
  fuzz::require(header->scalar == "float32", "a checkpoint has the run's scalar");
  fuzz::require(history.values(&fixtures::StepRow::loss).size() ==
                    static_cast<std::size_t>(history.rows("history")),
                "columns have one length");
  std::vector<double> direct;
  const bool read = fuzz::read_directly(file.path, "/moment1/norm", direct);
  fuzz::require(read && std::equal(direct.begin(), direct.end(), model.values.begin() + 27,
                                   model.values.begin() + 30,
                                   [](double a, float b) {
                                     return static_cast<float>(a) == b || (a != a && b != b);
                                   }),
                "values are what the HDF5 library reads\n" + file.told);
}

void look(const fuzz::Edited& file) {
  read_state(file);
  fuzz::accepts(Status::file, [&] { lexikos::read_checkpoint_header(file.path); });
  fuzz::accepts(Status::file, [&] {
    static_cast<void>(lexikos::read_parameter_shape(file.path, "head.weight"));
  });
  fuzz::accepts(Status::file, [&] {
    Model model;
    lexikos::read_parameters<float>(file.path, model.arrays<float>().parameters);
  });
  std::vector<std::string> passed_over;
  fuzz::accepts(Status::file,
                [&] { lexikos::find_newest_checkpoint(fuzz::folder(), &passed_over); });
  fuzz::read_weights(file.path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Base base = fuzz::make_base(write_file);
  const fuzz::Edited file =
      fuzz::write_edited("checkpoint_00000012.h5", base, fuzz::text_of(data, size));
  fuzz::look_at(file, [&] { look(file); });
  return 0;
}

// weights/hdf5_matrices: edits of an embedding.h5, which without its label is any HDF5 file. A
// matrix that was opened is what the library reads.
#include "outputs/embedding_file.hpp"

#include <optional>

#include "fuzz/hdf5_edits.hpp"
#include "fuzz/reader.hpp"
#include "fuzz/weight_checks.hpp"

namespace {

namespace fuzz = lexikos::fuzz;
using lexikos::Index;
using lexikos::Status;

void write_file(const std::string& path) {
  const auto rows = [](std::int64_t begin, std::int64_t count, float* out) {
    for (std::int64_t i = 0; i < 3 * count; ++i) out[i] = static_cast<float>(begin * 3 + i) * 0.5F;
  };
  lexikos::Attributes root;
  root.set("deck", "[embedding]\ninterface = \"tied\"\n").set("code_version", "abc").set("step", 3);
  lexikos::write_embedding(path, root, 8, 3, rows, rows);
}

bool same(double a, double b) { return a == b || (a != a && b != b); }

void check_values(const fuzz::Edited& file, const std::string& dataset) {
  std::optional<lexikos::WeightMatrix> matrix;
  const bool opened = fuzz::accepts(Status::file, [&] {
    matrix = lexikos::WeightFile(file.path + ":" + dataset, fuzz::weight_keys).matrix(dataset);
  });
  if (!opened || matrix->rows > 1000 || matrix->width > 1000) return;
  std::vector<double> direct;
  const auto width = static_cast<std::size_t>(matrix->width);
  fuzz::require(fuzz::read_directly(file.path, dataset, direct) &&
                    direct.size() == static_cast<std::size_t>(matrix->rows) * width,
                "a matrix is as large as the HDF5 library says\n" + file.told);
  std::vector<double> row(width);
  for (Index i = 0; i < matrix->rows; ++i) {
    matrix->read(i, row.data());
    for (std::size_t k = 0; k < width; ++k) {
      const double expected = direct[static_cast<std::size_t>(i) * width + k];
      fuzz::require(same(row[k], expected) || same(row[k], static_cast<float>(expected)),
                    "a matrix is what the HDF5 library reads\n" + file.told);
    }
  }
}

void look(const fuzz::Edited& file) {
  fuzz::read_weights(file.path);
  for (const char* dataset : {"/input", "/output"}) check_values(file, dataset);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Base base = fuzz::make_base(write_file);
  const fuzz::Edited file = fuzz::write_edited("embedding.h5", base, fuzz::text_of(data, size));
  fuzz::look_at(file, [&] { look(file); });
  return 0;
}

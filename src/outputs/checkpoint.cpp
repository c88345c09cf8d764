#include "outputs/checkpoint.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <system_error>
#include <type_traits>

#include "hdf5/file.hpp"
#include "utils/error.hpp"
#include "utils/paths.hpp"

namespace lexikos {

namespace {

constexpr const char* format = "lexikos-checkpoint";
constexpr const char* advice = "give a checkpoint_<step>.h5 to -r";

// Root attributes that have a field of their own in the header.
const std::set<std::string> own_attributes = {"format",       "format_version", "step",
                                              "tokens",       "seed",           "deck",
                                              "code_version", "member",         "scalar"};

template <class Scalar>
constexpr const char* scalar_name = std::is_same_v<Scalar, float> ? "float32" : "float64";

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) {
    text += (text.empty() ? "" : " x ") + std::to_string(extent);
  }
  return "[" + text + "]";
}

Hdf5Reader open_checkpoint(const std::string& path) {
  return Hdf5Reader(path, advice, "go on from the checkpoint before it (-r latest finds it)");
}

CheckpointHeader read_header(const Hdf5Reader& file) {
  file.require_format(format, checkpoint_format_version, checkpoint_sealed_from);
  CheckpointHeader header;
  header.step = file.integer("/", "step");
  header.tokens = file.integer("/", "tokens");
  header.seed = file.integer("/", "seed");
  header.deck = file.text("/", "deck");
  header.code_version = file.text("/", "code_version");
  header.member = file.text("/", "member");
  header.scalar = file.text("/", "scalar");
  for (const auto& [name, value] : file.attributes("/").entries()) {
    if (own_attributes.count(name) == 0) header.other.set(name, value);
  }
  return header;
}

std::int64_t row_elements(const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) elements *= shape[i];
  return elements;
}

/// Calls pass(begin, rows) for pieces of rows [first, last) that fit the buffer, and makes it.
template <class Scalar, class Pass>
void in_pieces(std::int64_t first, std::int64_t last, std::int64_t row, const Pass& pass) {
  if (row == 0 || first >= last) return;
  const std::int64_t most = std::min(std::max<std::int64_t>(1, pass_elements / row), last - first);
  std::vector<Scalar> buffer(static_cast<std::size_t>(most * row));
  for (std::int64_t begin = first; begin < last; begin += most) {
    pass(begin, std::min(most, last - begin), buffer.data());
  }
}

template <class Scalar>
void write_array(Hdf5Writer& file, const std::string& dataset,
                 const NamedArray<const Scalar>& array) {
  if (!array.pass_rows) return file.write(dataset, array.shape, array.data);
  file.create<Scalar>(dataset, array.shape);
  in_pieces<Scalar>(0, array.shape.front(), row_elements(array.shape),
                    [&](std::int64_t begin, std::int64_t rows, Scalar* buffer) {
                      array.pass_rows(begin, rows, buffer);
                      file.write_rows<Scalar>(dataset, begin, rows, buffer);
                    });
}

template <class Scalar>
void read_array(const Hdf5Reader& file, const std::string& dataset, const NamedArray<Scalar>& array,
                std::int64_t size) {
  if (!array.pass_rows) return file.read(dataset, array.data, size);
  in_pieces<Scalar>(array.first, array.last, row_elements(array.shape),
                    [&](std::int64_t begin, std::int64_t rows, Scalar* buffer) {
                      file.read_rows(dataset, begin, rows, buffer);
                      array.pass_rows(begin, rows, buffer);
                    });
}

template <class Scalar>
void write_group(Hdf5Writer& file, const std::string& group, const std::string& description,
                 const std::vector<NamedArray<const Scalar>>& arrays) {
  file.create_group("/" + group);
  file.set_attribute("/" + group, "description", description);
  for (const NamedArray<const Scalar>& array : arrays) {
    write_array(file, "/" + group + "/" + array.name, array);
  }
}

template <class Scalar>
void read_group(const Hdf5Reader& file, const std::string& group,
                const std::vector<NamedArray<Scalar>>& arrays) {
  const std::string start = "cannot use '" + file.path() + "': ";
  const std::string advice_here = "; use the deck it was made with";
  std::vector<std::string> names = file.members("/" + group);
  std::set<std::string> stored(names.begin(), names.end());
  for (const NamedArray<Scalar>& array : arrays) {
    const std::string dataset = "/" + group + "/" + array.name;
    if (stored.erase(array.name) == 0) {
      fail(Status::file, start + dataset + " is missing, shape " + shape_text(array.shape) +
                             " is expected" + advice_here);
    }
    const DatasetInfo info = file.info(dataset);
    if (info.shape != array.shape) {
      fail(Status::file, start + dataset + " has shape " + shape_text(info.shape) + " where " +
                             shape_text(array.shape) + " is expected" + advice_here);
    }
    read_array(file, dataset, array, info.size());
  }
  if (!stored.empty()) {
    const std::string dataset = "/" + group + "/" + *stored.begin();
    fail(Status::file, start + "it has " + dataset + " of shape " +
                           shape_text(file.info(dataset).shape) + ", which this model has not" +
                           advice_here);
  }
}

struct Candidate {
  std::int64_t step;
  std::filesystem::path path;
};

// The step in "checkpoint_00000012.h5", -1 for other names.
std::int64_t step_of(const std::string& name) {
  const std::string begin = "checkpoint_";
  const std::string end = ".h5";
  if (name.size() < begin.size() + 8 + end.size() || name.size() > 40 ||
      name.compare(0, begin.size(), begin) != 0 ||
      name.compare(name.size() - end.size(), end.size(), end) != 0) {
    return -1;
  }
  const std::string digits = name.substr(begin.size(), name.size() - begin.size() - end.size());
  if (digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string::npos) return -1;
  return std::stoll(digits);
}

// Newest first; empty where there is no such folder.
std::vector<Candidate> candidates(const std::string& folder) {
  std::vector<Candidate> found;
  for (const std::filesystem::path& path : entries_of(folder)) {
    const std::int64_t step = step_of(path.filename().string());
    if (step >= 0) found.push_back({step, path});
  }
  std::sort(found.begin(), found.end(),
            [](const Candidate& a, const Candidate& b) { return a.step > b.step; });
  return found;
}

}  // namespace

std::string checkpoint_path(const std::string& folder, std::int64_t step) {
  char name[48];
  std::snprintf(name, sizeof name, "checkpoint_%08lld.h5", static_cast<long long>(step));
  return (std::filesystem::path(folder) / name).string();
}

template <class Scalar>
void write_checkpoint(const std::string& path, const CheckpointHeader& header,
                      const StateArrays<const Scalar>& state, const History& history) {
  Hdf5Writer file(path);
  Attributes root;
  root.set("format", format)
      .set("format_version", checkpoint_format_version)
      .set("code_version", header.code_version)
      .set("deck", header.deck)
      .set("member", header.member)
      .set("scalar", scalar_name<Scalar>)
      .set("step", header.step)
      .set("tokens", header.tokens)
      .set("seed", header.seed);
  file.set_attributes("/", root.add_missing(header.other));
  write_group<Scalar>(file, "parameters", "trainable values", state.parameters);
  write_group<Scalar>(file, "moment1", "AdamW: running mean of the gradients", state.moment1);
  write_group<Scalar>(file, "moment2", "AdamW: running mean of the squared gradients",
                      state.moment2);
  history.write_groups(file);
  file.commit();
}

CheckpointHeader read_checkpoint_header(const std::string& path) {
  return read_header(open_checkpoint(path));
}

std::vector<std::int64_t> read_parameter_shape(const std::string& path, const std::string& name) {
  const Hdf5Reader file = open_checkpoint(path);
  file.require_format(format, checkpoint_format_version, checkpoint_sealed_from);
  return file.info("/parameters/" + name).shape;
}

namespace {

template <class Scalar>
CheckpointHeader read_header_of(const Hdf5Reader& file) {
  CheckpointHeader header = read_header(file);
  if (header.scalar != scalar_name<Scalar>) {
    fail(Status::file, "cannot use '" + file.path() + "': it holds " + header.scalar +
                           " and this run keeps " + scalar_name<Scalar> +
                           "; use the precision it was made with");
  }
  return header;
}

}  // namespace

template <class Scalar>
CheckpointHeader read_checkpoint(const std::string& path, const StateArrays<Scalar>& state,
                                 History* history) {
  const Hdf5Reader file = open_checkpoint(path);
  CheckpointHeader header = read_header_of<Scalar>(file);
  read_group(file, "parameters", state.parameters);
  read_group(file, "moment1", state.moment1);
  read_group(file, "moment2", state.moment2);
  if (history != nullptr) history->read_rows(file);
  return header;
}

template <class Scalar>
CheckpointHeader read_parameters(const std::string& path,
                                 const std::vector<NamedArray<Scalar>>& parameters) {
  const Hdf5Reader file = open_checkpoint(path);
  CheckpointHeader header = read_header_of<Scalar>(file);
  read_group(file, "parameters", parameters);
  return header;
}

std::optional<std::string> find_newest_checkpoint(const std::string& folder,
                                                  std::vector<std::string>* passed_over) {
  for (const Candidate& candidate : candidates(folder)) {
    bool newer = false;
    try {
      const Hdf5Reader file = open_checkpoint(candidate.path.string());
      newer = file.has_attribute("/", "format_version") &&
              file.integer("/", "format_version") > checkpoint_format_version;
      const CheckpointHeader header = read_header(file);
      for (const char* group : {"parameters", "moment1", "moment2", "history", "validation"}) {
        (void)file.members(std::string("/") + group);
      }
      if (header.step != candidate.step) {
        fail(Status::file, "cannot use '" + file.path() + "': it is of step " +
                               std::to_string(header.step) + ", not what its name says");
      }
      return candidate.path.string();
    } catch (const Error& error) {
      if (newer) throw;
      if (passed_over != nullptr) passed_over->emplace_back(error.what());
    }
  }
  return std::nullopt;
}

void prune_checkpoints(const std::string& folder, const Retention& retention) {
  std::vector<std::filesystem::path> unwanted;
  for (const std::filesystem::path& path : entries_of(folder)) {
    const std::string name = path.filename().string();
    const std::size_t mark = name.rfind(".tmp.");
    if (mark != std::string::npos && step_of(name.substr(0, mark)) >= 0) {
      unwanted.push_back(path);
    }
  }
  if (retention.newest > 0) {
    const std::vector<Candidate> found = candidates(folder);
    for (std::size_t i = static_cast<std::size_t>(retention.newest); i < found.size(); ++i) {
      const bool stays = retention.forever > 0 && found[i].step % retention.forever == 0;
      if (!stays) unwanted.push_back(found[i].path);
    }
  }
  for (const auto& path : unwanted) remove_file(path);
}

#define LEXIKOS_INSTANTIATE(Scalar)                                                         \
  template void write_checkpoint<Scalar>(const std::string&, const CheckpointHeader&,       \
                                         const StateArrays<const Scalar>&, const History&); \
  template CheckpointHeader read_checkpoint<Scalar>(const std::string&,                     \
                                                    const StateArrays<Scalar>&, History*);  \
  template CheckpointHeader read_parameters<Scalar>(const std::string&,                     \
                                                    const std::vector<NamedArray<Scalar>>&);
LEXIKOS_INSTANTIATE(float)
LEXIKOS_INSTANTIATE(double)
#undef LEXIKOS_INSTANTIATE

}  // namespace lexikos

// Matrices in HDF5 files: datasets of real numbers, mapped where the file keeps them as plain rows.
#include "deck/deck.hpp"
#include "hdf5/file.hpp"
#include "outputs/checkpoint.hpp"
#include "outputs/embedding_file.hpp"
#include "utils/error.hpp"
#include "weights/formats.hpp"

namespace lexikos::formats {
namespace {

/// All of it through the library, which converts: what is chunked, compressed, foreign or 2 bytes
/// wide (half precision and bfloat16 look alike from outside).
template <class T>
WeightMatrix copied(const Hdf5Reader& file, const std::string& dataset, const DatasetInfo& info) {
  auto values = std::make_shared<std::vector<T>>(file.read<T>(dataset));
  const auto* data = reinterpret_cast<const std::byte*>(values->data());
  const Index rows = info.shape.size() == 2 ? info.shape[0] : 1;
  const Element element = std::is_same_v<T, double> ? Element::f64 : Element::f32;
  return {"", rows, info.shape.back(), element, data, values};
}

WeightMatrix open_dataset(const std::string& path, const std::string& dataset,
                          std::size_t dimensions, const std::string& advice) {
  const Hdf5Reader file(path, advice);
  const DatasetInfo info = file.info(dataset);
  const std::string name = path + ":" + dataset;
  const std::string start = "cannot read '" + name + "': ";
  if (info.shape.size() != dimensions) {
    fail(Status::file, start + "it has " + std::to_string(info.shape.size()) + " dimensions; a " +
                           (dimensions == 2 ? "matrix [V D]" : "vector") + " is expected");
  }
  if (info.kind != DatasetInfo::Kind::real) {
    fail(Status::file, start + "it holds " + info.type + " where real numbers are expected");
  }
  if (info.mappable_at < 0) {
    WeightMatrix matrix = info.element_bytes == 8 ? copied<double>(file, dataset, info)
                                                  : copied<float>(file, dataset, info);
    matrix.name = name;
    return matrix;
  }
  const auto mapped = std::make_shared<const MappedFile>(path, advice);
  const Element element = info.element_bytes == 8 ? Element::f64 : Element::f32;
  return stored_tensor(mapped, dataset, info.shape, element_name(element), element,
                       static_cast<std::uint64_t>(info.mappable_at))
      .open(dimensions);
}

/// A dataset that cannot be read is in the list as well: whoever asks for it hears why.
TensorEntry entry_of(const Hdf5Reader& file, const std::string& dataset,
                     const std::string& advice) {
  TensorEntry entry{.name = dataset, .shape = {}, .type = "HDF5", .open = {}, .trouble = {}};
  try {
    entry.shape = file.info(dataset).shape;
  } catch (const Error& error) {
    return TensorEntry::broken(dataset, error.what());
  }
  entry.open = [path = file.path(), dataset, advice](std::size_t dimensions) {
    return open_dataset(path, dataset, dimensions, advice);
  };
  return entry;
}

/// The datasets of a group, links out of the file among them; groups below it are not searched.
void add_members(const Hdf5Reader& file, const std::string& group, const std::string& advice,
                 Hdf5Matrices& found) {
  for (const std::string& name : file.members(group)) {
    const std::string object = (group == "/" ? "" : group) + "/" + name;
    if (!file.is_inside(object) || file.is_dataset(object)) {
      found.tensors.push_back(entry_of(file, object, advice));
    }
  }
}

/// The deck that a checkpoint holds. Throws Error(file).
Deck deck_of(const Hdf5Reader& file) {
  try {
    return Deck::from_string(file.text("/", "deck"), "the deck of " + file.path());
  } catch (const Error& error) {
    fail(Status::file, error.what());
  }
}

/// Which parameters of a checkpoint are the two tables; the deck in it says how tokens enter.
void find_tables(const Hdf5Reader& file, const StoredTable& table, Hdf5Matrices& found) {
  const Deck deck = deck_of(file);
  const Node* interface = deck.root().at({"embedding", "interface"});
  const std::string name = interface != nullptr ? interface->text : "";
  found.output = "/parameters/head.weight";
  const std::string parameter = table ? table(name) : "";
  if (!parameter.empty()) {
    found.input = "/parameters/" + parameter;
  } else {
    found.why_no_input = "the input matrix of interface '" + name +
                         "' is computed, not stored; give the run's embedding.h5";
  }
}

}  // namespace

Hdf5Matrices read_hdf5(const std::string& path, const std::string& dataset,
                       const std::string& advice, const StoredTable& table) {
  const Hdf5Reader file(path, advice);
  Hdf5Matrices found{
      .format = "HDF5", .tensors = {}, .input = {}, .output = {}, .why_no_input = {}};
  if (!dataset.empty()) {
    found.tensors.push_back(entry_of(file, dataset, advice));
    found.input = dataset;
    return found;
  }
  const bool labelled = file.has_attribute("/", "format");
  const std::string label = labelled ? file.text("/", "format") : "";
  if (label == "lexikos-embedding") {
    file.require_format(label, embedding_format_version);
    found.input = "/input";
    found.output = "/output";
    found.format = "embedding.h5";
    add_members(file, "/", advice, found);
  } else if (label == "lexikos-checkpoint") {
    file.require_format(label, checkpoint_format_version, checkpoint_sealed_from);
    found.format = "checkpoint";
    add_members(file, "/parameters", advice, found);
    find_tables(file, table, found);
  } else {
    add_members(file, "/", advice, found);
  }
  return found;
}

}  // namespace lexikos::formats

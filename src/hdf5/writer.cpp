#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <utility>

#include "hdf5/detail.hpp"
#include "hdf5/driver.hpp"
#include "hdf5/file.hpp"
#include "hdf5/seal.hpp"
#include "utils/error.hpp"

namespace lexikos {

using detail::Handle;

namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::vector<hsize_t> extents(const std::vector<std::int64_t>& shape) {
  return {shape.begin(), shape.end()};
}

}  // namespace

struct Hdf5Writer::State {
  std::string path;
  std::string temporary;
  detail::OutputDescriptor output;
  Handle file;
  std::map<std::string, Handle> datasets;  // those that write_rows fills

  ~State() { discard(); }

  // Ends the file without giving it its name.
  void discard() {
    datasets.clear();
    if (file.valid() && output.error == 0) output.error = ECANCELED;  // drop what is still cached
    file.reset();
    H5Eclear2(H5E_DEFAULT);
    if (output.descriptor >= 0) close(std::exchange(output.descriptor, -1));
    if (!temporary.empty()) unlink(temporary.c_str());
    temporary.clear();
  }

  [[noreturn]] void refuse(const std::string& reason) {
    discard();
    fail(Status::file, "cannot write '" + path + "': " + reason +
                           "; free space or choose another folder (a file that was there before is "
                           "unchanged)");
  }

  // Every HDF5 call of the writer goes through here: its own failure, then the disk's.
  template <class Result>
  Result checked(Result result) {
    if (output.error != 0) refuse(std::strerror(output.error));
    if (result < 0) refuse(detail::hdf5_reason());
    return result;
  }

  Handle space(const std::vector<std::int64_t>& shape) {
    const std::vector<hsize_t> size = extents(shape);
    return {checked(H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr)),
            H5Sclose};
  }

  // Without times, so that the same content gives the same bytes.
  Handle creation_list(hid_t object_class) {
    Handle list(checked(H5Pcreate(object_class)), H5Pclose);
    checked(H5Pset_obj_track_times(list.id(), false));
    return list;
  }

  // One that remembers the order of its members.
  void create_group(const std::string& name) {
    const Handle creation = creation_list(H5P_GROUP_CREATE);
    checked(
        H5Pset_link_creation_order(creation.id(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    Handle group(
        checked(H5Gcreate2(file.id(), name.c_str(), H5P_DEFAULT, creation.id(), H5P_DEFAULT)),
        H5Gclose);
    checked(group.reset() ? 0 : -1);
  }

  // Makes the groups on the way that are not there.
  Handle create_dataset(const std::string& name, hid_t type, hid_t space, hid_t creation) {
    for (std::size_t slash = name.find('/', 1); slash != std::string::npos;
         slash = name.find('/', slash + 1)) {
      const std::string group = name.substr(0, slash);
      if (checked(H5Lexists(file.id(), group.c_str(), H5P_DEFAULT)) == 0) create_group(group);
    }
    return {checked(H5Dcreate2(file.id(), name.c_str(), type, space, H5P_DEFAULT, creation,
                               H5P_DEFAULT)),
            H5Dclose};
  }

  void close_dataset(Handle& dataset) { checked(dataset.reset() ? 0 : -1); }
};

Hdf5Writer::Hdf5Writer(const std::string& path) : state_(std::make_unique<State>()) {
  State& s = *state_;
  detail::start_hdf5();
  s.path = path;
  s.temporary = path + ".tmp." + std::to_string(getpid());
  s.output.descriptor = open(s.temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (s.output.descriptor < 0) s.refuse(std::strerror(errno));

  const Handle access = detail::output_access_list(&s.output);
  const Handle creation = s.creation_list(H5P_FILE_CREATE);
  s.file =
      Handle(s.checked(H5Fcreate(s.temporary.c_str(), H5F_ACC_TRUNC, creation.id(), access.id())),
             H5Fclose);
}

Hdf5Writer::~Hdf5Writer() = default;

const std::string& Hdf5Writer::path() const { return state_->path; }

void Hdf5Writer::create_group(const std::string& name) { state_->create_group(name); }

void Hdf5Writer::set_attribute(const std::string& object, const std::string& name,
                               const AttributeValue& value) {
  State& s = *state_;
  const Handle owner(s.checked(H5Oopen(s.file.id(), object.c_str(), H5P_DEFAULT)), H5Oclose);
  const Handle space(s.checked(H5Screate(H5S_SCALAR)), H5Sclose);
  const auto create = [&](hid_t type) {
    return Handle(
        s.checked(H5Acreate2(owner.id(), name.c_str(), type, space.id(), H5P_DEFAULT, H5P_DEFAULT)),
        H5Aclose);
  };
  Handle attribute;
  if (const auto* text = std::get_if<std::string>(&value)) {
    const Handle type = detail::string_type();
    const char* characters = text->c_str();
    attribute = create(type.id());
    s.checked(H5Awrite(attribute.id(), type.id(), &characters));
  } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    attribute = create(detail::disk_type<std::int64_t>());
    s.checked(H5Awrite(attribute.id(), detail::memory_type<std::int64_t>(), integer));
  } else {
    attribute = create(detail::disk_type<double>());
    s.checked(H5Awrite(attribute.id(), detail::memory_type<double>(), std::get_if<double>(&value)));
  }
  s.checked(attribute.reset() ? 0 : -1);
}

void Hdf5Writer::set_attributes(const std::string& object, const Attributes& attributes) {
  for (const auto& [name, value] : attributes.entries()) set_attribute(object, name, value);
}

template <class T>
void Hdf5Writer::write(const std::string& dataset, const std::vector<std::int64_t>& shape,
                       const T* data) {
  State& s = *state_;
  const Handle space = s.space(shape);
  const Handle creation = s.creation_list(H5P_DATASET_CREATE);
  Handle id = s.create_dataset(dataset, detail::disk_type<T>(), space.id(), creation.id());
  const bool some = H5Sget_simple_extent_npoints(space.id()) > 0;
  if (some) {
    s.checked(H5Dwrite(id.id(), detail::memory_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
  }
  s.close_dataset(id);
}

template <class T>
void Hdf5Writer::write_extendable(const std::string& dataset, const std::vector<T>& values) {
  State& s = *state_;
  const hsize_t size = values.size();
  const hsize_t unlimited = H5S_UNLIMITED;
  hsize_t chunk = 64;
  while (chunk < size && chunk < 8192) chunk *= 2;
  const Handle space(s.checked(H5Screate_simple(1, &size, &unlimited)), H5Sclose);
  const Handle creation = s.creation_list(H5P_DATASET_CREATE);
  s.checked(H5Pset_chunk(creation.id(), 1, &chunk));
  Handle id = s.create_dataset(dataset, detail::disk_type<T>(), space.id(), creation.id());
  if (size > 0) {
    s.checked(
        H5Dwrite(id.id(), detail::memory_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
  }
  s.close_dataset(id);
}

template <class T>
void Hdf5Writer::create(const std::string& dataset, const std::vector<std::int64_t>& shape) {
  State& s = *state_;
  const Handle space = s.space(shape);
  const Handle creation = s.creation_list(H5P_DATASET_CREATE);
  s.datasets[dataset] =
      s.create_dataset(dataset, detail::disk_type<T>(), space.id(), creation.id());
}

template <class T>
void Hdf5Writer::write_rows(const std::string& dataset, std::int64_t begin, std::int64_t rows,
                            const T* data) {
  State& s = *state_;
  const auto found = s.datasets.find(dataset);
  if (found == s.datasets.end()) s.refuse("dataset '" + dataset + "' was not created first");
  if (rows == 0) return;
  const Handle file_space(s.checked(H5Dget_space(found->second.id())), H5Sclose);
  const int rank = s.checked(H5Sget_simple_extent_ndims(file_space.id()));
  std::vector<hsize_t> count(static_cast<std::size_t>(rank));
  s.checked(H5Sget_simple_extent_dims(file_space.id(), count.data(), nullptr));
  std::vector<hsize_t> start(count.size(), 0);
  start[0] = static_cast<hsize_t>(begin);
  count[0] = static_cast<hsize_t>(rows);
  s.checked(H5Sselect_hyperslab(file_space.id(), H5S_SELECT_SET, start.data(), nullptr,
                                count.data(), nullptr));
  const Handle memory_space(s.checked(H5Screate_simple(rank, count.data(), nullptr)), H5Sclose);
  s.checked(H5Dwrite(found->second.id(), detail::memory_type<T>(), memory_space.id(),
                     file_space.id(), H5P_DEFAULT, data));
}

void Hdf5Writer::write_strings(const std::string& dataset, const std::vector<std::string>& values) {
  State& s = *state_;
  const Handle type = detail::string_type();
  const Handle space = s.space({static_cast<std::int64_t>(values.size())});
  const Handle creation = s.creation_list(H5P_DATASET_CREATE);
  Handle id = s.create_dataset(dataset, type.id(), space.id(), creation.id());
  std::vector<const char*> characters;
  characters.reserve(values.size());
  for (const std::string& value : values) characters.push_back(value.c_str());
  if (!values.empty()) {
    s.checked(H5Dwrite(id.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, characters.data()));
  }
  s.close_dataset(id);
}

void Hdf5Writer::commit() {
  State& s = *state_;
  for (auto& [name, dataset] : s.datasets) s.close_dataset(dataset);
  s.datasets.clear();
  s.checked(H5Fflush(s.file.id(), H5F_SCOPE_GLOBAL));
  s.checked(s.file.reset() ? 0 : -1);
  const std::string seal = seal_of(s.output.descriptor, s.output.end, s.temporary);
  s.output.write(s.output.end, seal.data(), seal.size());
  if (s.output.error != 0) s.refuse(std::strerror(s.output.error));
  // The data must be on the disk before the name says that it is.
  if (fsync(s.output.descriptor) != 0) s.refuse(std::strerror(errno));
  if (close(std::exchange(s.output.descriptor, -1)) != 0) s.refuse(std::strerror(errno));
  if (rename(s.temporary.c_str(), s.path.c_str()) != 0) s.refuse(std::strerror(errno));
  s.temporary.clear();

  const int folder = open(folder_of(s.path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    // Some file systems have no fsync for folders; then the rename is as safe as it gets.
    const int synced = fsync(folder);
    const int error = errno;
    close(folder);
    if (synced != 0 && error != EINVAL && error != ENOTSUP) {
      fail(Status::file, "'" + s.path + "' is written, but its folder did not reach the disk: " +
                             std::strerror(error));
    }
  }
}

#define LEXIKOS_INSTANTIATE(T)                                                               \
  template void Hdf5Writer::write<T>(const std::string&, const std::vector<std::int64_t>&,   \
                                     const T*);                                              \
  template void Hdf5Writer::write_extendable<T>(const std::string&, const std::vector<T>&);  \
  template void Hdf5Writer::create<T>(const std::string&, const std::vector<std::int64_t>&); \
  template void Hdf5Writer::write_rows<T>(const std::string&, std::int64_t, std::int64_t, const T*);
LEXIKOS_FOR_HDF5_TYPES(LEXIKOS_INSTANTIATE)
#undef LEXIKOS_INSTANTIATE

}  // namespace lexikos

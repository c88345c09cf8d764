#include <sys/stat.h>
#include <unistd.h>

#include <fcntl.h>
#include <cerrno>
#include <cstring>
#include <functional>
#include <numeric>

#include "hdf5/detail.hpp"
#include "hdf5/file.hpp"
#include "utils/error.hpp"

namespace lexikos {

using detail::Handle;

std::int64_t DatasetInfo::size() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

struct Hdf5Reader::State {
  std::string path;
  std::string advice;
  Handle file;
  std::string rows_name;  // the dataset that read_rows holds open
  Handle rows_dataset;

  [[noreturn]] void refuse(const std::string& what) const {
    fail(Status::file, "cannot read '" + path + "': " + what);
  }

  template <class Result>
  Result checked(Result result, const std::string& where) const {
    if (result < 0) refuse(where + ": " + detail::hdf5_reason());
    return result;
  }

  // H5Lexists wants every group on the way to exist.
  [[nodiscard]] bool has(const std::string& object) const {
    if (object == "/") return true;
    std::size_t slash = 0;
    do {
      slash = object.find('/', slash + 1);
      const std::string part = object.substr(0, slash);
      if (H5Lexists(file.id(), part.c_str(), H5P_DEFAULT) <= 0) {
        H5Eclear2(H5E_DEFAULT);
        return false;
      }
    } while (slash != std::string::npos);
    return true;
  }

  // `opened`, or the error that it could not be; `what` is "dataset", "group" or "object".
  [[nodiscard]] Handle found(Handle opened, const char* what, const std::string& name) const {
    if (opened.valid()) return opened;
    const std::string reason = detail::hdf5_reason();
    if (has(name)) {
      refuse("'" + name + "' is damaged, truncated or no " + what + " (" + reason +
             "); copy or prepare it again");
    }
    refuse(std::string("there is no ") + what + " '" + name + "' in it; " + advice);
  }

  [[nodiscard]] Handle object(const std::string& name) const {
    return found(Handle(H5Oopen(file.id(), name.c_str(), H5P_DEFAULT), H5Oclose), "object", name);
  }
  [[nodiscard]] Handle dataset(const std::string& name) const {
    return found(Handle(H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT), H5Dclose), "dataset", name);
  }
  [[nodiscard]] Handle group(const std::string& name) const {
    return found(Handle(H5Gopen2(file.id(), name.c_str(), H5P_DEFAULT), H5Gclose), "group", name);
  }

  [[nodiscard]] std::vector<hsize_t> shape(hid_t space) const {
    const int rank = checked(H5Sget_simple_extent_ndims(space), "shape");
    std::vector<hsize_t> size(static_cast<std::size_t>(rank));
    checked(H5Sget_simple_extent_dims(space, size.data(), nullptr), "shape");
    return size;
  }
};

namespace {

void release_strings(hid_t type, hid_t space, void* strings) {
#if H5_VERSION_GE(1, 12, 0)
  H5Treclaim(type, space, H5P_DEFAULT, strings);
#else
  H5Dvlen_reclaim(type, space, H5P_DEFAULT, strings);
#endif
}

// The strings of a dataset or attribute whose type on disk is `stored`; `read` is H5Dread or
// H5Aread. Empty with `ok` false where HDF5 refused.
template <class Read>
std::vector<std::string> strings_of(hid_t stored, hid_t space, const Read& read, bool* ok) {
  const std::int64_t count = H5Sget_simple_extent_npoints(space);
  std::vector<std::string> result;
  *ok = count >= 0;
  if (count <= 0) return result;
  const auto number = static_cast<std::size_t>(count);

  // The library does not convert between character sets: ask for the one that is there.
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_cset(type.id(), H5Tget_cset(stored));
  if (H5Tis_variable_str(stored) > 0) {
    H5Tset_size(type.id(), H5T_VARIABLE);
    std::vector<char*> characters(number, nullptr);
    *ok = read(type.id(), characters.data()) >= 0;
    if (!*ok) return result;
    for (const char* text : characters) result.emplace_back(text == nullptr ? "" : text);
    release_strings(type.id(), space, characters.data());
    return result;
  }

  const std::size_t width = H5Tget_size(stored);
  const H5T_str_t padding = H5Tget_strpad(stored);
  H5Tset_size(type.id(), width);
  H5Tset_strpad(type.id(), padding);
  std::vector<char> characters(number * width);
  *ok = read(type.id(), characters.data()) >= 0;
  if (!*ok) return result;
  for (std::size_t i = 0; i < number; ++i) {
    const char* begin = characters.data() + i * width;
    std::string text(begin, strnlen(begin, width));
    if (padding == H5T_STR_SPACEPAD) text.erase(text.find_last_not_of(' ') + 1);
    result.push_back(std::move(text));
  }
  return result;
}

// False where the attribute is not a single text, integer or real.
bool read_attribute(hid_t attribute, AttributeValue* value) {
  const Handle type(H5Aget_type(attribute), H5Tclose);
  const Handle space(H5Aget_space(attribute), H5Sclose);
  if (!type.valid() || !space.valid()) return false;
  const H5T_class_t kind = H5Tget_class(type.id());
  const auto count = H5Sget_simple_extent_npoints(space.id());
  if (kind == H5T_STRING) {
    if (count == 0) {  // h5py's way to write an empty string
      *value = std::string();
      return true;
    }
    bool ok = false;
    const auto read = [&](hid_t memory, void* out) { return H5Aread(attribute, memory, out); };
    const auto strings = strings_of(type.id(), space.id(), read, &ok);
    if (!ok || strings.size() != 1) return false;
    *value = strings[0];
    return true;
  }
  if (count != 1) return false;
  if (kind == H5T_INTEGER) {
    std::int64_t integer = 0;
    if (H5Aread(attribute, H5T_NATIVE_INT64, &integer) < 0) return false;
    *value = integer;
    return true;
  }
  if (kind == H5T_FLOAT) {
    double real = 0;
    if (H5Aread(attribute, H5T_NATIVE_DOUBLE, &real) < 0) return false;
    *value = real;
    return true;
  }
  return false;
}

// Why a file cannot be opened, found with the system's own calls because HDF5's texts hide it.
void check_openable(const std::string& path, const std::string& advice) {
  const std::string start = "cannot read '" + path + "': ";
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail(Status::file, start + std::strerror(errno) + "; " + advice);
  struct stat status {};
  const bool known = fstat(descriptor, &status) == 0;
  close(descriptor);
  if (known && S_ISDIR(status.st_mode)) {
    fail(Status::file, start + "it is a folder; " + advice);
  }
  if (known && status.st_size == 0) fail(Status::file, start + "the file is empty; " + advice);
}

herr_t collect_name(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

herr_t collect_attribute_name(hid_t, const char* name, const H5A_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

}  // namespace

Hdf5Reader::Hdf5Reader(const std::string& path, const std::string& advice)
    : state_(std::make_unique<State>()) {
  detail::start_hdf5();
  state_->path = path;
  state_->advice = advice;
  check_openable(path, advice);
  if (H5Fis_hdf5(path.c_str()) <= 0) {
    H5Eclear2(H5E_DEFAULT);
    fail(Status::file, "cannot read '" + path + "': it is not an HDF5 file; " + advice);
  }
  state_->file = Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!state_->file.valid()) {
    fail(Status::file, "cannot read '" + path + "': the file is damaged or truncated (" +
                           detail::hdf5_reason() + "); copy or prepare it again");
  }
}

Hdf5Reader::~Hdf5Reader() = default;
Hdf5Reader::Hdf5Reader(Hdf5Reader&&) noexcept = default;
Hdf5Reader& Hdf5Reader::operator=(Hdf5Reader&&) noexcept = default;

const std::string& Hdf5Reader::path() const { return state_->path; }

void Hdf5Reader::require_format(const std::string& format, std::int64_t newest) const {
  const State& s = *state_;
  if (!has_attribute("/", "format")) {
    s.refuse("it is no " + format + " file (it has no attribute 'format'); " + s.advice);
  }
  const AttributeValue found = attribute("/", "format");
  const auto* name = std::get_if<std::string>(&found);
  if (name == nullptr || *name != format) {
    s.refuse("it is a '" + (name == nullptr ? "?" : *name) + "' file where '" + format +
             "' is expected; " + s.advice);
  }
  const std::int64_t version = integer("/", "format_version");
  if (version > newest) {
    s.refuse("its " + format + " format version is " + std::to_string(version) +
             " and this program reads up to " + std::to_string(newest) +
             "; use a newer lexikos for it");
  }
  if (version < 1) {
    s.refuse("its format version " + std::to_string(version) + " does not exist; " + s.advice);
  }
}

bool Hdf5Reader::has(const std::string& object) const { return state_->has(object); }

std::vector<std::string> Hdf5Reader::members(const std::string& group) const {
  const State& s = *state_;
  const Handle opened = s.group(group);
  const Handle creation(s.checked(H5Gget_create_plist(opened.id()), group), H5Pclose);
  unsigned order = 0;
  s.checked(H5Pget_link_creation_order(creation.id(), &order), group);
  const H5_index_t index =
      (order & H5P_CRT_ORDER_TRACKED) != 0 ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
  std::vector<std::string> names;
  s.checked(H5Literate(opened.id(), index, H5_ITER_INC, nullptr, collect_name, &names), group);
  return names;
}

bool Hdf5Reader::has_attribute(const std::string& object, const std::string& name) const {
  const htri_t found =
      H5Aexists_by_name(state_->file.id(), object.c_str(), name.c_str(), H5P_DEFAULT);
  H5Eclear2(H5E_DEFAULT);
  return found > 0;
}

AttributeValue Hdf5Reader::attribute(const std::string& object, const std::string& name) const {
  const State& s = *state_;
  const Handle owner = s.object(object);
  const Handle opened(H5Aopen(owner.id(), name.c_str(), H5P_DEFAULT), H5Aclose);
  if (!opened.valid()) {
    H5Eclear2(H5E_DEFAULT);
    s.refuse("'" + object + "' has no attribute '" + name + "'; " + s.advice);
  }
  AttributeValue value;
  if (!read_attribute(opened.id(), &value)) {
    H5Eclear2(H5E_DEFAULT);
    s.refuse("attribute '" + name + "' of '" + object + "' is neither one text nor one number");
  }
  return value;
}

Attributes Hdf5Reader::attributes(const std::string& object) const {
  const State& s = *state_;
  const Handle owner = s.object(object);
  std::vector<std::string> names;
  s.checked(
      H5Aiterate2(owner.id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_attribute_name, &names),
      object);
  Attributes result;
  for (const std::string& name : names) {
    const Handle opened(H5Aopen(owner.id(), name.c_str(), H5P_DEFAULT), H5Aclose);
    AttributeValue value;
    if (opened.valid() && read_attribute(opened.id(), &value)) result.set(name, value);
  }
  H5Eclear2(H5E_DEFAULT);
  return result;
}

std::string Hdf5Reader::text(const std::string& object, const std::string& name) const {
  const AttributeValue value = attribute(object, name);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  state_->refuse("attribute '" + name + "' of '" + object + "' is a number, text is expected");
}

std::int64_t Hdf5Reader::integer(const std::string& object, const std::string& name) const {
  const AttributeValue value = attribute(object, name);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  state_->refuse("attribute '" + name + "' of '" + object + "' is not a whole number");
}

double Hdf5Reader::real(const std::string& object, const std::string& name) const {
  const AttributeValue value = attribute(object, name);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  state_->refuse("attribute '" + name + "' of '" + object + "' is text, a number is expected");
}

DatasetInfo Hdf5Reader::info(const std::string& dataset) const {
  const State& s = *state_;
  const Handle opened = s.dataset(dataset);
  const Handle type(s.checked(H5Dget_type(opened.id()), dataset), H5Tclose);
  const Handle space(s.checked(H5Dget_space(opened.id()), dataset), H5Sclose);
  const Handle creation(s.checked(H5Dget_create_plist(opened.id()), dataset), H5Pclose);

  DatasetInfo result;
  for (const hsize_t extent : s.shape(space.id())) {
    result.shape.push_back(static_cast<std::int64_t>(extent));
  }
  result.element_bytes = static_cast<std::int64_t>(H5Tget_size(type.id()));
  const H5T_class_t kind = H5Tget_class(type.id());
  if (kind == H5T_INTEGER) {
    result.kind = H5Tget_sign(type.id()) == H5T_SGN_NONE ? DatasetInfo::Kind::unsigned_integer
                                                         : DatasetInfo::Kind::signed_integer;
  } else if (kind == H5T_FLOAT) {
    result.kind = DatasetInfo::Kind::real;
  } else if (kind == H5T_STRING) {
    result.kind = DatasetInfo::Kind::string;
  }
  if (kind == H5T_INTEGER || kind == H5T_FLOAT) {
    result.native_order =
        result.element_bytes == 1 || H5Tget_order(type.id()) == H5Tget_order(H5T_NATIVE_INT64);
  }
  result.contiguous = H5Pget_layout(creation.id()) == H5D_CONTIGUOUS &&
                      H5Pget_external_count(creation.id()) == 0 &&
                      H5Pget_nfilters(creation.id()) == 0;
  if (result.contiguous) {
    const haddr_t offset = H5Dget_offset(opened.id());
    if (offset != HADDR_UNDEF) result.file_offset = static_cast<std::int64_t>(offset);
  }
  H5Eclear2(H5E_DEFAULT);
  return result;
}

template <class T>
void Hdf5Reader::read(const std::string& dataset, T* out, std::int64_t count) const {
  const State& s = *state_;
  const Handle opened = s.dataset(dataset);
  const Handle space(s.checked(H5Dget_space(opened.id()), dataset), H5Sclose);
  const std::int64_t stored = H5Sget_simple_extent_npoints(space.id());
  if (stored != count) {
    s.refuse("dataset '" + dataset + "' has " + std::to_string(stored) + " elements where " +
             std::to_string(count) + " are expected");
  }
  if (count == 0) return;
  s.checked(H5Dread(opened.id(), detail::memory_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, out),
            "dataset '" + dataset + "'");
}

template <class T>
std::vector<T> Hdf5Reader::read(const std::string& dataset) const {
  std::vector<T> values(static_cast<std::size_t>(info(dataset).size()));
  read(dataset, values.data(), static_cast<std::int64_t>(values.size()));
  return values;
}

template <class T>
void Hdf5Reader::read_rows(const std::string& dataset, std::int64_t begin, std::int64_t rows,
                           T* out) const {
  State& s = *state_;
  if (rows == 0) return;
  if (s.rows_name != dataset || !s.rows_dataset.valid()) {
    s.rows_dataset = s.dataset(dataset);
    s.rows_name = dataset;
  }
  const Handle file_space(s.checked(H5Dget_space(s.rows_dataset.id()), dataset), H5Sclose);
  std::vector<hsize_t> count = s.shape(file_space.id());
  if (count.empty() || begin < 0 || rows < 0 ||
      static_cast<hsize_t>(begin) + static_cast<hsize_t>(rows) > count[0]) {
    s.refuse("rows " + std::to_string(begin) + " to " + std::to_string(begin + rows) +
             " are not in dataset '" + dataset + "'");
  }
  std::vector<hsize_t> start(count.size(), 0);
  start[0] = static_cast<hsize_t>(begin);
  count[0] = static_cast<hsize_t>(rows);
  s.checked(H5Sselect_hyperslab(file_space.id(), H5S_SELECT_SET, start.data(), nullptr,
                                count.data(), nullptr),
            dataset);
  const Handle memory_space(
      s.checked(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), dataset),
      H5Sclose);
  s.checked(H5Dread(s.rows_dataset.id(), detail::memory_type<T>(), memory_space.id(),
                    file_space.id(), H5P_DEFAULT, out),
            "dataset '" + dataset + "'");
}

std::vector<std::string> Hdf5Reader::read_strings(const std::string& dataset) const {
  const State& s = *state_;
  const Handle opened = s.dataset(dataset);
  const Handle type(s.checked(H5Dget_type(opened.id()), dataset), H5Tclose);
  const Handle space(s.checked(H5Dget_space(opened.id()), dataset), H5Sclose);
  if (H5Tget_class(type.id()) != H5T_STRING) {
    s.refuse("dataset '" + dataset + "' does not hold text");
  }
  bool ok = false;
  const auto read = [&](hid_t memory, void* out) {
    return H5Dread(opened.id(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
  };
  std::vector<std::string> strings = strings_of(type.id(), space.id(), read, &ok);
  if (!ok) s.refuse("dataset '" + dataset + "': " + detail::hdf5_reason());
  return strings;
}

#define LEXIKOS_INSTANTIATE(T)                                                   \
  template void Hdf5Reader::read<T>(const std::string&, T*, std::int64_t) const; \
  template std::vector<T> Hdf5Reader::read<T>(const std::string&) const;         \
  template void Hdf5Reader::read_rows<T>(const std::string&, std::int64_t, std::int64_t, T*) const;
LEXIKOS_FOR_HDF5_TYPES(LEXIKOS_INSTANTIATE)
#undef LEXIKOS_INSTANTIATE

}  // namespace lexikos

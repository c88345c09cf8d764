#include <type_traits>

#include "hdf5/file.hpp"
#include "hdf5/open_file.hpp"
#include "hdf5/seal.hpp"
#include "utils/error.hpp"

namespace lexikos {

using detail::Handle;

struct Hdf5Reader::State {
  detail::OpenFile file;
  std::string rows_name;  // the dataset that read_rows holds open
  Handle rows_dataset;
};

namespace {

herr_t collect_name(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

herr_t collect_attribute_name(hid_t, const char* name, const H5A_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

/// A number in a file that the type in memory cannot hold: without this HDF5 takes the nearest.
H5T_conv_ret_t refuse_number(H5T_conv_except_t, hid_t, hid_t, void*, void*, void* met) {
  *static_cast<bool*>(met) = true;
  return H5T_CONV_ABORT;
}

template <class T>
std::string type_name() {
  return (std::is_floating_point_v<T> ? "float"
          : std::is_signed_v<T>       ? "int"
                                      : "uint") +
         std::to_string(8 * sizeof(T));
}

template <class T>
void require_type(const detail::OpenFile& file, const std::string& name, const DatasetInfo& info) {
  using Kind = DatasetInfo::Kind;
  const bool whole = info.kind == Kind::signed_integer || info.kind == Kind::unsigned_integer;
  if (std::is_integral_v<T> ? whole : info.kind == Kind::real) return;
  file.refuse("dataset '" + name + "' holds " + info.type + " where " + type_name<T>() +
              " is expected; " + file.advice());
}

/// H5Dread of numbers.
template <class T>
void read_numbers(const detail::OpenFile& file, const std::string& name, hid_t dataset,
                  hid_t memory_space, hid_t file_space, T* out) {
  bool met = false;
  const Handle transfer(file.checked(H5Pcreate(H5P_DATASET_XFER), name), H5Pclose);
  file.checked(H5Pset_type_conv_cb(transfer.id(), refuse_number, &met), name);
  const herr_t result =
      H5Dread(dataset, detail::memory_type<T>(), memory_space, file_space, transfer.id(), out);
  if (met) {
    H5Eclear2(H5E_DEFAULT);
    file.refuse("dataset '" + name + "' has a number that is none of " + type_name<T>() + "; " +
                file.advice());
  }
  if (result < 0) {
    file.refuse("dataset '" + name + "' cannot be read: " + detail::hdf5_reason() + "; " +
                file.if_damaged());
  }
}

}  // namespace

Hdf5Reader::Hdf5Reader(const std::string& path, const std::string& advice,
                       const std::string& if_damaged)
    : state_(new State{{path, advice, if_damaged}, {}, {}}) {}

Hdf5Reader::~Hdf5Reader() = default;
Hdf5Reader::Hdf5Reader(Hdf5Reader&&) noexcept = default;
Hdf5Reader& Hdf5Reader::operator=(Hdf5Reader&&) noexcept = default;

const detail::OpenFile& Hdf5Reader::file() const { return state_->file; }
const std::string& Hdf5Reader::path() const { return file().path(); }

void Hdf5Reader::require_format(const std::string& format, std::int64_t newest,
                                std::int64_t sealed_from) const {
  const detail::OpenFile& f = file();
  if (!has_attribute("/", "format")) {
    f.refuse("it is no " + format + " file (it has no attribute 'format'); " + f.advice());
  }
  const AttributeValue found = attribute("/", "format");
  const auto* name = std::get_if<std::string>(&found);
  if (name == nullptr || *name != format) {
    f.refuse("it is a '" + (name == nullptr ? "?" : *name) + "' file where '" + format +
             "' is expected; " + f.advice());
  }
  const std::int64_t version = integer("/", "format_version");
  if (version > newest) {
    f.refuse("its " + format + " format version is " + std::to_string(version) +
             " and this program reads up to " + std::to_string(newest) +
             "; use a newer lexikos for it");
  }
  if (version < 1) {
    f.refuse("its format version " + std::to_string(version) + " does not exist; " + f.advice());
  }
  if (sealed_from > 0 && version >= sealed_from && !f.sealed()) check_seal(path(), f.if_damaged());
}

bool Hdf5Reader::has(const std::string& object) const { return file().has(object); }

bool Hdf5Reader::is_dataset(const std::string& object) const {
  return has(object) && H5Iget_type(file().object(object).id()) == H5I_DATASET;
}

bool Hdf5Reader::is_group(const std::string& object) const {
  return has(object) && H5Iget_type(file().object(object).id()) == H5I_GROUP;
}

bool Hdf5Reader::is_inside(const std::string& object) const { return file().is_inside(object); }

std::vector<std::string> Hdf5Reader::members(const std::string& group) const {
  const detail::OpenFile& f = file();
  const Handle opened = f.group(group);
  const Handle creation(f.checked(H5Gget_create_plist(opened.id()), group), H5Pclose);
  unsigned order = 0;
  f.checked(H5Pget_link_creation_order(creation.id(), &order), group);
  const H5_index_t index =
      (order & H5P_CRT_ORDER_TRACKED) != 0 ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
  std::vector<std::string> names;
  f.checked(H5Literate(opened.id(), index, H5_ITER_INC, nullptr, collect_name, &names), group);
  return names;
}

bool Hdf5Reader::has_attribute(const std::string& object, const std::string& name) const {
  if (!has(object)) return false;
  const Handle owner = file().object(object);
  const htri_t found = H5Aexists(owner.id(), name.c_str());
  H5Eclear2(H5E_DEFAULT);
  return found > 0;
}

AttributeValue Hdf5Reader::attribute(const std::string& object, const std::string& name) const {
  const detail::OpenFile& f = file();
  const Handle owner = f.object(object);
  const Handle opened(H5Aopen(owner.id(), name.c_str(), H5P_DEFAULT), H5Aclose);
  if (!opened.valid()) {
    H5Eclear2(H5E_DEFAULT);
    f.refuse("'" + object + "' has no attribute '" + name + "'; " + f.advice());
  }
  std::optional<AttributeValue> value = detail::read_attribute(f, opened.id());
  H5Eclear2(H5E_DEFAULT);
  if (!value) {
    f.refuse("attribute '" + name + "' of '" + object + "' is neither one text nor one number");
  }
  return std::move(*value);
}

Attributes Hdf5Reader::attributes(const std::string& object) const {
  const detail::OpenFile& f = file();
  const Handle owner = f.object(object);
  std::vector<std::string> names;
  f.checked(
      H5Aiterate2(owner.id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_attribute_name, &names),
      object);
  Attributes result;
  for (const std::string& name : names) {
    const Handle opened(
        f.checked(H5Aopen(owner.id(), name.c_str(), H5P_DEFAULT), "attribute '" + name + "'"),
        H5Aclose);
    if (const auto value = detail::read_attribute(f, opened.id())) result.set(name, *value);
  }
  H5Eclear2(H5E_DEFAULT);
  return result;
}

std::string Hdf5Reader::text(const std::string& object, const std::string& name) const {
  const AttributeValue value = attribute(object, name);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  file().refuse("attribute '" + name + "' of '" + object + "' is a number, text is expected");
}

std::int64_t Hdf5Reader::integer(const std::string& object, const std::string& name) const {
  const AttributeValue value = attribute(object, name);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  file().refuse("attribute '" + name + "' of '" + object + "' is not a whole number");
}

double Hdf5Reader::real(const std::string& object, const std::string& name) const {
  const AttributeValue value = attribute(object, name);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  file().refuse("attribute '" + name + "' of '" + object + "' is text, a number is expected");
}

DatasetInfo Hdf5Reader::info(const std::string& dataset) const {
  return detail::describe(file(), file().dataset(dataset).id(), dataset);
}

template <class T>
void Hdf5Reader::read(const std::string& dataset, T* out, std::int64_t count) const {
  const Handle opened = file().dataset(dataset);
  const DatasetInfo info = detail::describe(file(), opened.id(), dataset);
  require_type<T>(file(), dataset, info);
  if (info.size() != count) {
    file().refuse("dataset '" + dataset + "' has " + std::to_string(info.size()) +
                  " elements where " + std::to_string(count) + " are expected");
  }
  if (count > 0) read_numbers(file(), dataset, opened.id(), H5S_ALL, H5S_ALL, out);
}

template <class T>
std::vector<T> Hdf5Reader::read_list(const std::string& dataset) const {
  const std::size_t dimensions = info(dataset).shape.size();
  if (dimensions != 1) {
    file().refuse("dataset '" + dataset + "' has " + std::to_string(dimensions) +
                  " dimensions where a list is expected; " + file().advice());
  }
  return read<T>(dataset);
}

template <class T>
std::vector<T> Hdf5Reader::read(const std::string& dataset) const {
  const DatasetInfo stored = info(dataset);
  require_type<T>(file(), dataset, stored);
  std::vector<T> values(static_cast<std::size_t>(stored.size()));
  read(dataset, values.data(), static_cast<std::int64_t>(values.size()));
  return values;
}

template <class T>
void Hdf5Reader::read_rows(const std::string& dataset, std::int64_t begin, std::int64_t rows,
                           T* out) const {
  State& s = *state_;
  const detail::OpenFile& f = s.file;
  if (rows == 0) return;
  if (s.rows_name != dataset || !s.rows_dataset.valid()) {
    s.rows_name.clear();
    s.rows_dataset = f.dataset(dataset);
    require_type<T>(f, dataset, detail::describe(f, s.rows_dataset.id(), dataset));
    s.rows_name = dataset;
  }
  const Handle file_space(f.checked(H5Dget_space(s.rows_dataset.id()), dataset), H5Sclose);
  const int rank = f.checked(H5Sget_simple_extent_ndims(file_space.id()), dataset);
  std::vector<hsize_t> count(static_cast<std::size_t>(rank));
  f.checked(H5Sget_simple_extent_dims(file_space.id(), count.data(), nullptr), dataset);
  const auto first = static_cast<hsize_t>(begin), wanted = static_cast<hsize_t>(rows);
  if (count.empty() || begin < 0 || rows < 0 || first > count[0] || wanted > count[0] - first) {
    f.refuse("rows " + std::to_string(begin) + " to " + std::to_string(begin + rows) +
             " are not in dataset '" + dataset + "'");
  }
  std::vector<hsize_t> start(count.size(), 0);
  start[0] = first;
  count[0] = wanted;
  f.checked(H5Sselect_hyperslab(file_space.id(), H5S_SELECT_SET, start.data(), nullptr,
                                count.data(), nullptr),
            dataset);
  const Handle memory_space(f.checked(H5Screate_simple(rank, count.data(), nullptr), dataset),
                            H5Sclose);
  read_numbers(f, dataset, s.rows_dataset.id(), memory_space.id(), file_space.id(), out);
}

std::vector<std::string> Hdf5Reader::read_strings(const std::string& dataset) const {
  return detail::read_texts(file(), file().dataset(dataset).id(), dataset);
}

#define LEXIKOS_INSTANTIATE(T)                                                   \
  template void Hdf5Reader::read<T>(const std::string&, T*, std::int64_t) const; \
  template std::vector<T> Hdf5Reader::read<T>(const std::string&) const;         \
  template std::vector<T> Hdf5Reader::read_list<T>(const std::string&) const;    \
  template void Hdf5Reader::read_rows<T>(const std::string&, std::int64_t, std::int64_t, T*) const;
LEXIKOS_FOR_HDF5_TYPES(LEXIKOS_INSTANTIATE)
#undef LEXIKOS_INSTANTIATE

}  // namespace lexikos

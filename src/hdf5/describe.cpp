// How a dataset is stored, and whether all of its values can be had from this very file.
#include <array>

#include "hdf5/open_file.hpp"

namespace lexikos {

std::int64_t DatasetInfo::size() const {
  std::int64_t product = 1;  // describe() has seen that it does not overflow
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

namespace detail {
namespace {

/// What deflate makes of zeros at best: bytes for each stored one.
constexpr std::uint64_t most_compressed = 1032;

constexpr const char* prepare_again = "copy or prepare it again";

/// A dataset while it is described.
struct Described {
  const OpenFile& file;
  hid_t dataset;
  const std::string& name;
  Handle type, space, creation;

  Described(const OpenFile& from, hid_t id, const std::string& called)
      : file(from),
        dataset(id),
        name(called),
        type(from.checked(H5Dget_type(id), called), H5Tclose),
        space(from.checked(H5Dget_space(id), called), H5Sclose),
        creation(from.checked(H5Dget_create_plist(id), called), H5Pclose) {}

  [[noreturn]] void refuse(const std::string& what) const { file.refuse("'" + name + "' " + what); }
};

const char* class_name(H5T_class_t kind) {
  switch (kind) {
    case H5T_TIME:
      return "times";
    case H5T_BITFIELD:
      return "bit fields";
    case H5T_OPAQUE:
      return "opaque bytes";
    case H5T_COMPOUND:
      return "records of several numbers (compound)";
    case H5T_REFERENCE:
      return "references";
    case H5T_ENUM:
      return "named values (enumeration)";
    case H5T_VLEN:
      return "lists of varying length";
    case H5T_ARRAY:
      return "arrays";
    default:
      return "an unknown type";
  }
}

/// "uint16", "int64, big-endian", "float32", "text", "bit fields".
std::string type_text(hid_t type, const DatasetInfo& info) {
  using Kind = DatasetInfo::Kind;
  if (info.kind == Kind::string) return "text";
  if (info.kind == Kind::other) return class_name(H5Tget_class(type));
  std::string text = info.kind == Kind::real               ? "float"
                     : info.kind == Kind::unsigned_integer ? "uint"
                                                           : "int";
  text += std::to_string(8 * info.element_bytes);
  if (info.element_bytes > 1 && H5Tget_order(type) == H5T_ORDER_BE) text += ", big-endian";
  return text;
}

void set_type(const Described& d, DatasetInfo& info) {
  info.element_bytes = static_cast<std::int64_t>(H5Tget_size(d.type.id()));
  if (info.element_bytes < 1) d.refuse(std::string("has elements without bytes; ") + prepare_again);
  const H5T_class_t kind = H5Tget_class(d.type.id());
  if (kind == H5T_INTEGER) {
    info.kind = H5Tget_sign(d.type.id()) == H5T_SGN_NONE ? DatasetInfo::Kind::unsigned_integer
                                                         : DatasetInfo::Kind::signed_integer;
  } else if (kind == H5T_FLOAT) {
    info.kind = DatasetInfo::Kind::real;
  } else if (kind == H5T_STRING) {
    info.kind = DatasetInfo::Kind::string;
  }
  info.type = type_text(d.type.id(), info);
}

/// Whether the bytes of an element are those of a number of this machine.
bool is_native(hid_t type) {
  const std::array natives = {
      H5T_NATIVE_UINT8, H5T_NATIVE_UINT16, H5T_NATIVE_UINT32, H5T_NATIVE_UINT64, H5T_NATIVE_INT8,
      H5T_NATIVE_INT16, H5T_NATIVE_INT32,  H5T_NATIVE_INT64,  H5T_NATIVE_FLOAT,  H5T_NATIVE_DOUBLE};
  for (const hid_t native : natives) {
    if (H5Tequal(type, native) > 0) return true;
  }
  return false;
}

void set_shape(const Described& d, DatasetInfo& info) {
  if (H5Sget_simple_extent_type(d.space.id()) == H5S_NULL) {
    d.refuse("has no values (an empty dataspace); " + d.file.advice());
  }
  const int rank = d.file.checked(H5Sget_simple_extent_ndims(d.space.id()), d.name);
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  d.file.checked(H5Sget_simple_extent_dims(d.space.id(), extents.data(), nullptr), d.name);
  const std::string what = "the extents of '" + d.name + "'";
  (void)d.file.extent().product(what, extents);  // none of them is 2^63 or more
  info.shape.assign(extents.begin(), extents.end());
}

/// Filters that every build of HDF5 undoes. Others are plugins, or come from outside.
void check_filters(const Described& d) {
  const int count = d.file.checked(H5Pget_nfilters(d.creation.id()), d.name);
  for (int i = 0; i < count; ++i) {
    std::array<char, 64> name{};
    std::size_t values = 0;
    unsigned flags = 0, config = 0;
    const H5Z_filter_t filter =
        d.file.checked(H5Pget_filter2(d.creation.id(), static_cast<unsigned>(i), &flags, &values,
                                      nullptr, name.size() - 1, name.data(), &config),
                       d.name);
    if (filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE ||
        filter == H5Z_FILTER_FLETCHER32) {
      continue;
    }
    d.refuse("is stored through the filter '" + std::string(name.data()) + "' (number " +
             std::to_string(filter) +
             "), which is not read; write it with gzip or without filters");
  }
}

/// More than the file can hold, even with the best compression.
void check_amount(const Described& d, const DatasetInfo& info) {
  const std::uint64_t bytes = d.file.extent().bytes();
  const std::uint64_t most = H5Pget_nfilters(d.creation.id()) > 0 ? bytes * most_compressed : bytes;
  const auto each = static_cast<std::uint64_t>(info.element_bytes);
  if (static_cast<std::uint64_t>(info.size()) <= most / each) return;
  d.refuse("should have " + std::to_string(info.size()) + " elements of " + std::to_string(each) +
           " bytes, and the whole file has " + std::to_string(bytes) +
           " bytes: it is damaged, truncated or was not written to its end; " + prepare_again);
}

void refuse_unwritten(const Described& d, const std::string& how) {
  d.refuse(how + ": HDF5 would give zeros in their place; " + prepare_again);
}

/// In a contiguous dataset the bytes that the file keeps are those of the elements.
void check_contiguous(const Described& d, DatasetInfo& info) {
  if (H5Pget_external_count(d.creation.id()) > 0) {
    d.refuse("keeps its values in other files (external storage); copy it into one file");
  }
  const haddr_t begin = H5Dget_offset(d.dataset);
  H5Eclear2(H5E_DEFAULT);
  if (begin == HADDR_UNDEF) refuse_unwritten(d, "was created and its values were never written");
  const auto count = static_cast<std::uint64_t>(info.size());
  const auto each = static_cast<std::uint64_t>(info.element_bytes);
  if (H5Tis_variable_str(d.type.id()) <= 0) {  // such have another size in files
    d.file.extent().require_inside("'" + d.name + "'", begin, count, each);
    const hsize_t stored = H5Dget_storage_size(d.dataset);
    if (stored != count * each) {
      d.refuse("has " + std::to_string(count) + " elements of " + std::to_string(each) +
               " bytes and " + std::to_string(stored) + " stored bytes: it is damaged; " +
               prepare_again);
    }
  }
  if (is_native(d.type.id())) info.mappable_at = static_cast<std::int64_t>(begin);
}

/// The chunks that a dataset of these extents has, and those that were written.
void check_chunks(const Described& d, const DatasetInfo& info) {
  std::vector<hsize_t> chunk(info.shape.size());
  const int rank = static_cast<int>(chunk.size());
  if (H5Pget_chunk(d.creation.id(), rank, chunk.data()) != rank) {
    d.refuse("has chunks of another number of dimensions; " + std::string(prepare_again));
  }
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    if (chunk[i] == 0) d.refuse(std::string("has chunks of no elements; ") + prepare_again);
    numbers.push_back((static_cast<std::uint64_t>(info.shape[i]) - 1) / chunk[i] + 1);
  }
  chunk.push_back(static_cast<hsize_t>(info.element_bytes));
  const std::string what = "the chunks of '" + d.name + "'";
  const auto bytes = static_cast<std::uint64_t>(d.file.extent().product(what, chunk));
  const auto needed = static_cast<std::uint64_t>(d.file.extent().product(what, numbers));
  if (bytes / most_compressed > d.file.extent().bytes()) {
    d.refuse("has chunks of " + std::to_string(bytes) +
             " bytes, more than the file can hold: it is damaged; " + prepare_again);
  }
  hsize_t written = 0;
#if H5_VERSION_GE(1, 10, 5)
  d.file.checked(H5Dget_num_chunks(d.dataset, d.space.id(), &written), what);
#else
  if (H5Pget_nfilters(d.creation.id()) > 0) return;  // not known
  written = H5Dget_storage_size(d.dataset) / bytes;
#endif
  if (written != needed) {
    refuse_unwritten(d, "was written only in part, " + std::to_string(written) + " of its " +
                            std::to_string(needed) + " chunks");
  }
}

}  // namespace

DatasetInfo describe(const OpenFile& file, hid_t dataset, const std::string& name) {
  const Described d(file, dataset, name);
  DatasetInfo info;
  set_type(d, info);
  set_shape(d, info);
  if (info.size() == 0) return info;
  const H5D_layout_t layout = H5Pget_layout(d.creation.id());
  check_filters(d);
  if (layout == H5D_CONTIGUOUS) {
    check_contiguous(d, info);
  } else if (layout == H5D_CHUNKED) {
    check_chunks(d, info);
  } else if (layout != H5D_COMPACT) {
    d.refuse("is a virtual dataset, whose values lie in others; copy it into one of its own");
  }
  check_amount(d, info);
  H5Eclear2(H5E_DEFAULT);
  return info;
}

}  // namespace detail
}  // namespace lexikos
